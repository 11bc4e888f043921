// Edits one plant for a client: reads what is stored, decides on the edit, checks the conditions of the
// request, as other errors go before them (RFC 9110, section 13.2.1), and makes the edit if nothing has
// changed meanwhile.

import { type Caller, creatorName, type ResolveCreator } from "../auth/caller.ts";
import { ApiError, unavailable } from "../base/errors.ts";
import { type Collection, isSamePlant, type Plant } from "../contract/contract.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { OperationStore } from "../store/operation-store.ts";
import { entityTag } from "../store/shared/entity-tag.ts";
import { nextVersion, type StoredPlant } from "../store/shared/plant-rows.ts";
import { type Editor, EditRun } from "./edit-run.ts";
import { checkPreconditions, isConditional } from "./preconditions.ts";

/** Another process has to change the plant in each of them. */
const attemptsMax = 10;

interface EditCall {
  readonly headers: Headers;
  readonly caller: Caller;
  /** Finds who has created what a replacement creates. */
  readonly resolveCreator: ResolveCreator;
  readonly store: OperationStore;
}

/** A plant after an edit; undefined if it was deleted. */
export interface Edited {
  readonly stored: StoredPlant | undefined;
  readonly isCreated: boolean;
}

/**
 * Edits a plant; it is on disk when this resolves. Rejects as the store does.
 *
 * @param decide returns what to store instead, or undefined to delete; it is called again if the
 *   plant has changed.
 */
export function editOne(
  collection: Collection,
  id: PlantId,
  { headers, caller, resolveCreator, store }: EditCall,
  decide: (stored: StoredPlant | undefined) => Plant | undefined | ApiError,
): Promise<Edited | ApiError> {
  return store.change(collection, id, async () => {
    const run = new EditRun(store, clientEditor(caller));
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const stored = await store.get(collection, id);
      const plant = decide(stored);
      if (plant instanceof ApiError) return plant;
      const failed = isConditional(headers)
        ? checkPreconditions(headers, stored && entityTag(collection, stored))
        : undefined;
      if (failed !== undefined) return failed;
      if (isSamePlant(collection, stored, plant)) return { stored, isCreated: false };
      const unknown = plant && caller.creator === undefined ? await resolveCreator(caller) : undefined;
      if (unknown !== undefined) return unknown;
      const editedAt = Date.now();
      const creation = stored ?? { createdAt: editedAt, creator: caller.creator ?? null };
      const version = nextVersion(stored?.version, editedAt);
      const change = {
        ...{ id, expected: stored, replacement: plant?.values, version },
        ...(stored === undefined && { creation }),
      };
      const [outcome] = await run.edit(collection, [change], editedAt);
      if (outcome === "changed") continue;
      return { stored: plant && { ...creation, ...plant, version }, isCreated: stored === undefined };
    }
    return unavailable(`The ${collection.words.one} is being changed by others`);
  });
}

/** The client in the history: a subject of an identity provider is not the token of that name. */
export function clientEditor(caller: Caller): Editor {
  return { by: "client", token: caller.issuer === undefined ? caller.name : creatorName(caller) };
}
