// Runs the console's calls that create and edit plants, each edit in a run of the history, and its
// undo.

import { AdminError, BadRequestError } from "../../admin-pages/admin-responses.ts";
import { ApiError, statusOf } from "../../base/errors.ts";
import type { Notice } from "../../base/server-event.ts";
import { type Collection, type Plant, valuesEqual } from "../../contract/contract.ts";
import { parsePlantJson } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { withArticle } from "../../contract/words.ts";
import { type EditCounts, EditRun, listEdits, undoRun } from "../../plants/edits.ts";
import { ChosenId, freeIdsOf } from "../../plants/new-ids.ts";
import { errorOfOutcome } from "../../plants/pending-create.ts";
import type { NewEntry, Outcome } from "../../store/plant-store.ts";
import { findPlants, nextVersion } from "../../store/shared/plant-rows.ts";
import type { ConsoleContext } from "../console-context.ts";
import { parseId } from "../parameters.ts";
import { toChange } from "./shown-plant.ts";

/** Edits of a plant that are listed; the command lists all. */
const editsListedMax = 100;

/** `client` is the address of the operator's browser. */
export class PlantChanges {
  readonly #context: ConsoleContext;

  constructor(context: ConsoleContext) {
    this.#context = context;
  }

  get #collection(): Collection {
    return this.#context.collection;
  }

  /**
   * Creates a plant, with all checks of the public operation, and resolves with its id: a new one if
   * the body has none and the server chooses it.
   */
  async create({ body }: { body: string }, client: string): Promise<{ readonly id: PlantId }> {
    const { collection, newId, reader, emit } = this.#context;
    let chosen: ChosenId | undefined;
    const chooseId = () => {
      chosen = new ChosenId(collection, undefined, newId);
      return chosen.first();
    };
    let plant = this.#parsePlant(body, collection.id.isRequired ? undefined : chooseId);
    let outcome = await this.#store(plant, chosen?.key);
    while (outcome === "taken" && chosen !== undefined) {
      const onNoneLeft = () => emit({ kind: "idsExhausted", path: collection.path });
      const id = await chosen.another(freeIdsOf(collection, await reader(), onNoneLeft));
      if (id === undefined) break;
      plant = { ...plant, id };
      outcome = await this.#store(plant, chosen.key);
    }
    if (outcome !== "created" && outcome !== "unchanged") {
      const { code, message } = errorOfOutcome(outcome, collection, plant);
      throw new AdminError(statusOf(code), message);
    }
    if (outcome === "created") {
      this.#notice(`${collection.words.one} created`, { id: String(plant.id), client });
      this.#context.countCreated(1, 0);
    }
    return { id: plant.id };
  }

  async #store(plant: Plant, key: NewEntry["key"]): Promise<Outcome> {
    const { collection, store } = this.#context;
    const [outcome = "unavailable"] = await store.create([{ collection, plant, creator: null, key }]);
    return outcome;
  }

  /**
   * Replaces a plant, or deletes it, unless it has changed since it was shown.
   *
   * @param version that was shown.
   * @param body of the plant that replaces it; "" deletes it.
   */
  async edit({ id: text, version, body }: { id: string; version: string; body: string }, client: string) {
    const collection = this.#collection;
    const id = parseId(collection, text);
    const replacement = body === "" ? undefined : this.#parsePlant(body);
    if (replacement !== undefined && replacement.id !== id)
      throw new BadRequestError(`The id of ${withArticle(collection.words.one)} cannot be changed.`);
    const expected = (await findPlants(collection, await this.#context.reader(), [id])).get(id);
    if (expected === undefined || String(expected.version) !== version) return { isSaved: false };
    if (replacement !== undefined && valuesEqual(collection, expected.values, replacement.values))
      return { isSaved: true };
    const run = this.startRun(client);
    const edit = { id, expected, replacement: replacement?.values, version: nextVersion(expected.version) };
    const [outcome] = await run.edit(collection, [edit]);
    this.reportRun(run, client);
    return { isSaved: outcome === "done" };
  }

  /** Lists the edits of a plant, the latest first. */
  async history(parameters: URLSearchParams) {
    const id = parseId(this.#collection, parameters.get("id") ?? "");
    const { entries, next } = await listEdits(
      this.#context.store.contract,
      await this.#context.reader(),
      { collection: this.#collection, id },
      editsListedMax,
    );
    const edits = entries.map(({ run, editedAt, editor, before, after }) => ({
      run,
      editedAt: new Date(editedAt).toISOString(),
      editor,
      ...toChange(this.#collection, before, after),
    }));
    return { edits, isComplete: next === undefined };
  }

  /** Undoes the edits of a plant in a run. */
  async undo({ run, id }: { run: string; id: string }, client: string) {
    const filter = { run, collection: this.#collection, id: parseId(this.#collection, id) };
    const undo = this.startRun(client);
    const { found, ...result } = await undoRun(
      this.#context.store.contract,
      undo,
      await this.#context.reader(),
      filter,
    );
    this.reportRun(undo, client);
    if (found === 0) throw new AdminError(404, "The history has no such run.");
    const [refusal = null] = result.refused.values();
    return { isUndone: result.undone > 0, isAsBefore: result.unchanged > 0, refusal };
  }

  /** Starts a run of the history. */
  startRun(client: string): EditRun {
    return new EditRun(this.#context.store, { by: "console", client });
  }

  /** Reports the edits of a run. Call it at its end. */
  reportRun({ id, made }: { readonly id: string; readonly made: EditCounts }, client: string): void {
    const { updated, deleted, restored } = made;
    if (updated + deleted + restored === 0) return;
    this.#notice(`${this.#collection.words.many} edited`, { run: id, updated, deleted, restored, client });
    this.#context.countCreated(restored, 0);
  }

  /** Parses a plant as a create would. Throws a BadRequestError with the message of a create. */
  #parsePlant(body: string, chooseId?: () => PlantId): Plant {
    const { bodyBytesMax } = this.#context;
    if (Buffer.byteLength(body) > bodyBytesMax)
      throw new BadRequestError(
        `The ${this.#collection.words.one} is larger than the ${bodyBytesMax} bytes that --body-bytes-max allows.`,
      );
    const plant = parsePlantJson(this.#collection, body, chooseId);
    if (plant instanceof ApiError) throw new BadRequestError(plant.message);
    return plant;
  }

  #notice(message: string, fields: Notice["fields"]): void {
    this.#context.emit({ kind: "notice", message, fields: { by: "console", ...fields } });
  }
}
