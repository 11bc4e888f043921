// Runs the console's calls that create and edit plants, each edit in a run of the history, and its
// undo.

import { AdminError, BadRequestError } from "../../admin-pages/admin-responses.ts";
import { ApiError, statusOf } from "../../base/errors.ts";
import { parts } from "../../base/parts.ts";
import type { Notice } from "../../base/server-event.ts";
import { type Collection, type Plant, valuesEqual } from "../../contract/contract.ts";
import { parsePlantJson, plantJson } from "../../contract/plant.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import { isStorable } from "../../contract/stored-types.ts";
import { withArticle } from "../../contract/words.ts";
import { decodePercent } from "../../json/percent-encoding.ts";
import { type EditCounts, EditRun } from "../../plants/edit-run.ts";
import { listEdits, undoRun } from "../../plants/edits.ts";
import { ChosenId, freeIdsOf } from "../../plants/new-ids.ts";
import { errorOfOutcome } from "../../plants/pending-create.ts";
import type { NewEntry, Outcome } from "../../store/plant-store.ts";
import { editsMax, type PlantEdit } from "../../store/shared/plant-edit.ts";
import { findPlants, nextVersion } from "../../store/shared/plant-rows.ts";
import type { ConsoleContext } from "../console-context.ts";
import { parseId } from "../parameters.ts";
import { toChange } from "./shown-plant.ts";

/** Edits of a plant that are listed; the command lists all. */
const editsListedMax = 100;

/** Plants that can be edited at once. */
const plantsMax = 10_000;

/** Returns a plant as it is after a change; undefined if it is deleted. */
type Change = (plant: Plant) => Plant | undefined;

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
   * Edits plants, except those that have changed since they were shown, and those that would become
   * larger than a client may send.
   *
   * @param plants each an id, percent-encoded, a colon and the version that was shown; separated by
   *   spaces.
   * @param change `delete`; `group`, which sets the field that groups plants; or `replace` for one
   *   plant.
   * @param value the group, "" for none, or the body of the plant that replaces.
   */
  async edit({ plants, change, value }: { plants: string; change: string; value: string }, client: string) {
    const { collection, bodyBytesMax } = this.#context;
    const isTooLarge = (plant: Plant) => Buffer.byteLength(plantJson(collection, plant)) > bodyBytesMax;
    const shown = this.#parseVersions(plants);
    if (shown.size > plantsMax)
      throw new BadRequestError(`At most ${plantsMax} ${collection.words.many} can be edited at once.`);
    const ids = [...shown.keys()];
    const changed = this.#parseChange(change, value, ids);
    const sql = await this.#context.reader();
    const run = this.startRun(client);
    const left: PlantId[] = [];
    try {
      for (const some of parts(ids, editsMax)) {
        const stored = await findPlants(collection, sql, some);
        const made: PlantEdit[] = [];
        for (const id of some) {
          const plant = stored.get(id);
          if (plant === undefined || String(plant.version) !== shown.get(id)) {
            left.push(id);
            continue;
          }
          const replacement = changed(plant);
          if (replacement !== undefined && isTooLarge(replacement)) left.push(id);
          else if (replacement === undefined || !valuesEqual(collection, plant.values, replacement.values))
            made.push({
              id,
              expected: plant,
              replacement: replacement?.values,
              version: nextVersion(plant.version),
            });
        }
        const outcomes = await run.edit(collection, made);
        left.push(...made.flatMap(({ id }, index) => (outcomes[index] === "done" ? [] : [id])));
      }
    } finally {
      this.reportRun(run, client);
    }
    return { run: run.id, edited: run.made.updated + run.made.deleted, left };
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

  /**
   * Undoes a run, or the edits of one plant in it.
   *
   * @param id "" for all plants of the run.
   */
  async undo({ run, id }: { run: string; id: string }, client: string) {
    const filter = {
      run,
      collection: this.#collection,
      id: id === "" ? undefined : parseId(this.#collection, id),
    };
    const undo = this.startRun(client);
    const undoing = undoRun(this.#context.store.contract, undo, await this.#context.reader(), filter);
    const { found, undone, unchanged, left, refused } = await undoing.finally(() =>
      this.reportRun(undo, client),
    );
    if (found === 0) throw new AdminError(404, "The history has no such run.");
    const [refusal = null] = refused.values();
    return { undone, unchanged, leftCount: left.length, refusedCount: refused.size, refusal };
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

  /** @param ids those of the plants to be changed. */
  #parseChange(change: string, value: string, ids: readonly PlantId[]): Change {
    if (change === "delete") return () => undefined;
    const collection = this.#collection;
    if (change === "replace") {
      const replacement = this.#parsePlant(value);
      if (ids.length === 1 && ids[0] === replacement.id) return () => replacement;
      throw new BadRequestError(`The id of ${withArticle(collection.words.one)} cannot be changed.`);
    }
    const { groupField } = collection;
    if (change !== "group" || groupField === undefined) throw new BadRequestError("There is no such change.");
    const { name, type, isRequired } = groupField;
    if (value === "" && isRequired) throw new BadRequestError(`The ${name} is required.`);
    if (!isStorable(value)) throw new BadRequestError(`The ${name} has a character that cannot be stored.`);
    const group = value === "" ? undefined : type.parse(value);
    if (value !== "" && group === undefined)
      throw new BadRequestError(`The ${name} must be ${type.expected}.`);
    return ({ id, values }) => ({ id, values: values.with(collection.fields.indexOf(groupField), group) });
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

  #parseVersions(plants: string): Map<PlantId, string> {
    return new Map(
      plants.split(" ").map((plant) => {
        const [id = "", version] = plant.split(":");
        if (version === undefined)
          throw new BadRequestError('Each of "plants" must be an id, a colon and a version.');
        return [parseId(this.#collection, decodePercent(id)), version];
      }),
    );
  }

  #notice(message: string, fields: Notice["fields"]): void {
    this.#context.emit({ kind: "notice", message, fields: { by: "console", ...fields } });
  }
}
