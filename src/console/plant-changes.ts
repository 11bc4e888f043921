// The console's calls that create and edit plants, each edit in a run of the history, and its undo.

import { AdminError } from "../admin-responses.ts";
import { ApiError, statusOf } from "../core/contract/errors.ts";
import { isStorable } from "../core/contract/field-types.ts";
import { groupField } from "../core/contract/fields.ts";
import {
  type NewPlant,
  newPlantJson,
  type Plant,
  parseNewPlantJson,
  plantsEqual,
} from "../core/contract/plant.ts";
import { toApiError } from "../core/http/exchange.ts";
import type { Notice } from "../core/observability/server-event.ts";
import { editsMax, type PlantEdit } from "../core/store/plant-edit.ts";
import { type EditCounts, EditRun, type HistoryEntry, listEdits, undoRun } from "../operations/edits.ts";
import { findPlants } from "../operations/stored-plants.ts";
import type { ConsoleContext } from "./context.ts";
import { parseId } from "./parse-id.ts";
import { versionOf } from "./plant-rows.ts";
import { BadRequestError } from "./responses.ts";

/** Edits of a plant that are listed; the command lists all. */
const editsListedMax = 100;

/** Plants that can be edited at once. */
const plantsMax = 10_000;

/** A change of plants. `group` sets the field that groups plants; "" removes it. */
type Change =
  | { readonly kind: "delete" }
  | { readonly kind: "group"; readonly group: string | undefined }
  | { readonly kind: "replace"; readonly replacement: NewPlant };

/** `client` is the address of the operator's browser. */
export class PlantChanges {
  readonly #context: ConsoleContext;

  constructor(context: ConsoleContext) {
    this.#context = context;
  }

  /** Creates a plant, with all checks of the public operation. */
  async create({ body }: { body: string }, client: string): Promise<void> {
    const plant = this.#parsePlant(body);
    const [outcome = "unavailable"] = await this.#context.store.create([{ plant, creator: null }]);
    if (outcome !== "created" && outcome !== "unchanged") {
      const { code, message } = toApiError(outcome, plant);
      throw new AdminError(statusOf(code), message);
    }
    if (outcome === "unchanged") return;
    this.#notice("plant created", { id: String(plant.id), client });
    this.#context.countCreated(1, 0);
  }

  /**
   * Edits plants. Those are left that are no longer what was shown, or that would become larger
   * than a client may send.
   *
   * @param plants each an id, a colon and the version that was shown; separated by spaces.
   * @param change `delete`, `group`, or `replace` for one plant.
   * @param value the group, or the body of the plant that replaces.
   */
  async edit({ plants, change, value }: { plants: string; change: string; value: string }, client: string) {
    const shown = [...parseVersions(plants)];
    if (shown.length > plantsMax)
      throw new BadRequestError(`At most ${plantsMax} plants can be edited at once.`);
    const parsed = this.#parseChange(change, value);
    if (parsed.kind === "replace" && (shown.length !== 1 || shown[0]?.[0] !== parsed.replacement.id))
      throw new BadRequestError("The id of a plant cannot be changed.");
    const { bodyBytesMax, reader } = this.#context;
    const sql = await reader();
    const run = this.startRun(client);
    const left: bigint[] = [];
    try {
      for (let at = 0; at < shown.length; at += editsMax) {
        const some = shown.slice(at, at + editsMax);
        const stored = await findPlants(
          sql,
          some.map(([id]) => id),
        );
        const made: PlantEdit[] = [];
        for (const [id, version] of some) {
          const expected = stored.get(id);
          if (expected === undefined || versionOf(expected) !== version) {
            left.push(id);
            continue;
          }
          const replacement = changed(expected, parsed);
          if (replacement !== undefined && Buffer.byteLength(newPlantJson(replacement)) > bodyBytesMax)
            left.push(id);
          else if (replacement !== expected) made.push({ id, expected, replacement });
        }
        const outcomes = await run.edit(made);
        left.push(...made.flatMap(({ id }, index) => (outcomes[index] === "done" ? [] : [id])));
      }
    } finally {
      this.reportRun(run, client);
    }
    return { run: run.id, edited: run.made.updated + run.made.deleted, left };
  }

  /** Lists the edits of a plant, the latest first. */
  async history(parameters: URLSearchParams) {
    const id = parseId(parameters.get("id") ?? "");
    const { entries, next } = await listEdits(await this.#context.reader(), { id }, editsListedMax);
    return { edits: entries.map(toShown), isComplete: next === undefined };
  }

  /**
   * Undoes a run, or the edits of one plant in it.
   *
   * @param id "" for all plants of the run.
   */
  async undo({ run, id }: { run: string; id: string }, client: string) {
    const filter = { run, id: id === "" ? undefined : parseId(id) };
    const undo = this.startRun(client);
    const undoing = undoRun(undo, await this.#context.reader(), filter);
    const { found, undone, unchanged, left } = await undoing.finally(() => this.reportRun(undo, client));
    if (found === 0) throw new AdminError(404, "The history has no such run.");
    return { undone, unchanged, leftCount: left.length };
  }

  /** Starts a run of the history. */
  startRun(client: string): EditRun {
    return new EditRun(this.#context.store, { by: "console", client });
  }

  /** Reports the edits of a run. Call it at its end. */
  reportRun({ id, made }: { readonly id: string; readonly made: EditCounts }, client: string): void {
    const { updated, deleted, restored } = made;
    if (updated + deleted + restored === 0) return;
    this.#notice("plants edited", { run: id, updated, deleted, restored, client });
    this.#context.countCreated(restored, 0);
  }

  #parseChange(change: string, value: string): Change {
    if (change === "delete") return { kind: "delete" };
    if (change === "replace") return { kind: "replace", replacement: this.#parsePlant(value) };
    if (change !== "group" || groupField === undefined) throw new BadRequestError("There is no such change.");
    if (!isStorable(value))
      throw new BadRequestError(`The ${groupField} has a character that cannot be stored.`);
    return { kind: "group", group: value === "" ? undefined : value };
  }

  /** The plant of a body of the public operation. Throws an AdminError with the message of that. */
  #parsePlant(body: string): NewPlant {
    const { bodyBytesMax } = this.#context;
    if (Buffer.byteLength(body) > bodyBytesMax)
      throw new BadRequestError(
        `The plant is larger than the ${bodyBytesMax} bytes that --body-bytes-max allows.`,
      );
    const plant = parseNewPlantJson(body);
    if (plant instanceof ApiError) throw new BadRequestError(plant.message);
    return plant;
  }

  #notice(message: string, fields: Notice["fields"]): void {
    this.#context.emit({ kind: "notice", message, fields: { by: "console", ...fields } });
  }
}

function parseVersions(plants: string): Map<bigint, string> {
  return new Map(
    plants.split(" ").map((plant) => {
      const [id = "", version] = plant.split(":");
      if (version === undefined) throw new BadRequestError("A plant must be an id, a colon and a version.");
      return [parseId(id), version];
    }),
  );
}

/** The plant after a change: undefined if it is deleted, the plant itself if nothing changes. */
function changed(plant: NewPlant, change: Change): NewPlant | undefined {
  if (change.kind === "delete") return undefined;
  if (change.kind === "replace") return plantsEqual(plant, change.replacement) ? plant : change.replacement;
  if (groupField === undefined || plant[groupField] === change.group) return plant;
  const { [groupField]: _, ...ungrouped } = plant;
  return (change.group === undefined ? ungrouped : { ...ungrouped, [groupField]: change.group }) as NewPlant;
}

function toShown({ run, editedAt, editor, before, after }: HistoryEntry) {
  return {
    run,
    editedAt: new Date(editedAt).toISOString(),
    editor,
    before: before === undefined ? null : withoutId(before),
    after: after === undefined ? null : withoutId(after),
  };
}

function withoutId({ id: _, ...fields }: NewPlant): Plant {
  return fields;
}
