// An import that replaces stored plants, and its dry run.

import { type NewPlant, plantsEqual } from "../core/contract/plant.ts";
import {
  compareWithStored,
  type NewEntry,
  type Outcome,
  type PlantStore,
} from "../core/store/plant-store.ts";
import type { SqlConnection } from "../core/store/sql-connection.ts";
import { type EditRun, storedPlants } from "./edits.ts";

/** Differences that a dry run shows. */
const differencesMax = 10;

/** A record, and the plant that it replaces. */
export interface Difference {
  readonly line: number;
  readonly before: NewPlant;
  readonly after: NewPlant;
}

/** A record of an import whose plant may replace the stored one. */
interface UpdatingRecord {
  readonly line: number;
  readonly plant: NewPlant;
}

/** The outcome of a record: `conflict` if the stored plant was changed at the same time. */
export type UpdateOutcome = "replaced" | "unchanged" | "conflict";

/** Replaces the plants that are stored under the ids of records. */
export class Replacement {
  /** The first ones. */
  readonly differences: Difference[] = [];
  readonly #sql: SqlConnection;
  readonly #run: EditRun | undefined;

  /** @param run the run of the edits; undefined for a dry run, which makes none. */
  constructor(sql: SqlConnection, run: EditRun | undefined) {
    this.#sql = sql;
    this.#run = run;
  }

  /** Replaces in the order of the records: of two with one id the last one stays. */
  async replace(records: readonly UpdatingRecord[]): Promise<UpdateOutcome[]> {
    const current = await storedPlants(
      this.#sql,
      records.map(({ plant }) => plant.id),
    );
    const edits: { readonly index: number; readonly expected: NewPlant; readonly replacement: NewPlant }[] =
      [];
    const outcomes = records.map(({ line, plant }, index): UpdateOutcome => {
      const expected = current.get(plant.id);
      // Deleted at the same time; or, in a dry run, to be created by an earlier record.
      if (expected === undefined) return this.#run === undefined ? "replaced" : "conflict";
      if (plantsEqual(expected, plant)) return "unchanged";
      if (this.differences.length < differencesMax)
        this.differences.push({ line, before: expected, after: plant });
      edits.push({ index, expected, replacement: plant });
      current.set(plant.id, plant);
      return "replaced";
    });
    const made = await this.#run?.edit(
      edits.map(({ expected, replacement }) => ({ id: replacement.id, expected, replacement })),
    );
    for (const [at, { index }] of edits.entries())
      if (made !== undefined && made[at] !== "done") outcomes[index] = "conflict";
    return outcomes;
  }
}

/** A store that only predicts the outcomes of creates. */
export function dryStore(sql: SqlConnection): Pick<PlantStore, "create"> {
  return {
    async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
      const stored = await storedPlants(
        sql,
        batch.map(({ plant }) => plant.id),
      );
      return batch.map(({ plant }) => {
        const found = stored.get(plant.id);
        if (found === undefined) stored.set(plant.id, plant);
        return found === undefined ? "created" : compareWithStored(found, plant);
      });
    },
  };
}
