// An import that replaces stored plants, and its dry run.

import { ApiError } from "../core/contract/errors.ts";
import type { FieldName } from "../core/contract/fields.ts";
import { type NewPlant, newPlantJson, plantsEqual } from "../core/contract/plant.ts";
import { editsMax, type PlantEdit } from "../core/store/plant-edit.ts";
import {
  compareWithStored,
  type NewEntry,
  type Outcome,
  type PlantStore,
} from "../core/store/plant-store.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import type { CsvHeader } from "./csv.ts";
import type { EditRun } from "./edits.ts";
import type { ImportRecord } from "./record-reader.ts";
import { findPlants } from "./stored-plants.ts";

/** Differences that a dry run shows. */
const differencesMax = 10;

/** A record, and the plant that it replaces. */
export interface Difference {
  readonly line: number;
  readonly before: NewPlant;
  readonly after: NewPlant;
}

/** Replaces the plants that are stored under the ids of records. */
export class Replacement {
  /** The first ones. */
  readonly differences: Difference[] = [];
  readonly #sql: SqlConnection;
  readonly #run: EditRun | undefined;
  #absent: readonly FieldName[] = [];

  /** @param run the run of the edits; undefined for a dry run, which makes none. */
  constructor(sql: SqlConnection, run: EditRun | undefined) {
    this.#sql = sql;
    this.#run = run;
  }

  /** Is told the header of the file: stored plants keep the fields that it has no column for. */
  onHeader({ absent }: CsvHeader): void {
    this.#absent = absent;
  }

  /**
   * Replaces the plants that are in conflict with records of a batch, and sets the outcomes of its
   * valid records: `conflict` stays if the stored plant was changed at the same time. Of two records
   * with one id the last one stays.
   */
  async replaceConflicts(batch: readonly ImportRecord[], outcomes: (Outcome | "replaced")[]): Promise<void> {
    const records = batch
      .flatMap(({ line, plant }) => (plant instanceof ApiError ? [] : [{ line, plant }]))
      .map((record, index) => ({ ...record, index }));
    const ids = new Set(
      records.filter(({ index }) => outcomes[index] === "conflict").map(({ plant }) => plant.id),
    );
    // Includes unchanged records with the same ids: an earlier record may have replaced the plant.
    const updating = records.filter(({ index, plant }) => outcomes[index] !== "created" && ids.has(plant.id));
    /** The plants of earlier records. */
    const replaced = new Map<bigint, NewPlant>();
    for (const some of parts(updating)) {
      const stored = await findPlants(
        this.#sql,
        some.map(({ plant }) => plant.id),
      );
      const edits: (PlantEdit & { readonly index: number })[] = [];
      for (const { line, plant, index } of some) {
        const { id } = plant;
        const expected = replaced.get(id) ?? stored.get(id);
        const replacement = expected && this.#merge(plant, expected);
        // Deleted at the same time; or, in a dry run, to be created by an earlier record.
        if (expected === undefined || replacement === undefined)
          outcomes[index] = this.#run === undefined ? "replaced" : "conflict";
        else if (plantsEqual(expected, replacement)) outcomes[index] = "unchanged";
        else {
          if (this.differences.length < differencesMax)
            this.differences.push({ line, before: expected, after: replacement });
          edits.push({ id, expected, replacement, index });
          replaced.set(id, replacement);
          outcomes[index] = "replaced";
        }
      }
      const made = await this.#run?.edit(edits);
      for (const [at, { index }] of edits.entries())
        if (made !== undefined && made[at] !== "done") outcomes[index] = "conflict";
    }
  }

  #merge(plant: NewPlant, stored: NewPlant): NewPlant {
    const kept = this.#absent.map((field) => [field, stored[field]] as const);
    return { ...plant, ...Object.fromEntries(kept.filter(([, value]) => value !== undefined)) };
  }
}

/**
 * A store that only predicts the outcomes of creates. It remembers the ids that it would have
 * created, and a hash of each plant: some 100 bytes a plant.
 */
export function dryStore(sql: SqlConnection): Pick<PlantStore, "create"> {
  const created = new Map<bigint, number | bigint>();
  return {
    async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
      const outcomes: Outcome[] = [];
      for (const some of parts(batch)) {
        const stored = await findPlants(
          sql,
          some.map(({ plant }) => plant.id),
        );
        for (const { plant } of some) {
          const found = stored.get(plant.id);
          const hash = Bun.hash(newPlantJson(plant));
          const before = created.get(plant.id);
          if (found !== undefined) outcomes.push(compareWithStored(found, plant));
          else if (before !== undefined) outcomes.push(before === hash ? "unchanged" : "conflict");
          else {
            created.set(plant.id, hash);
            outcomes.push("created");
          }
        }
      }
      return outcomes;
    },
  };
}

/** Parts of a batch: its plants may be short, and the stored ones under their ids as long as a body. */
function* parts<Item>(batch: readonly Item[]): Generator<readonly Item[]> {
  for (let at = 0; at < batch.length; at += editsMax) yield batch.slice(at, at + editsMax);
}
