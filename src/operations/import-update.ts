// An import that replaces stored plants, and its dry run.

import { type NewPlant, plantsEqual } from "../core/contract/plant.ts";
import { editsMax, type PlantEdit } from "../core/store/plant-edit.ts";
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
    const outcomes: UpdateOutcome[] = [];
    /** The plants of earlier records. */
    const replaced = new Map<bigint, NewPlant>();
    for (const some of parts(records)) {
      const stored = await storedPlants(
        this.#sql,
        some.map(({ plant }) => plant.id),
      );
      const edits: { readonly at: number; readonly edit: PlantEdit }[] = [];
      for (const { line, plant } of some) {
        const expected = replaced.get(plant.id) ?? stored.get(plant.id);
        if (expected === undefined) {
          // Deleted at the same time; or, in a dry run, to be created by an earlier record.
          outcomes.push(this.#run === undefined ? "replaced" : "conflict");
        } else if (plantsEqual(expected, plant)) outcomes.push("unchanged");
        else {
          if (this.differences.length < differencesMax)
            this.differences.push({ line, before: expected, after: plant });
          edits.push({ at: outcomes.length, edit: { id: plant.id, expected, replacement: plant } });
          replaced.set(plant.id, plant);
          outcomes.push("replaced");
        }
      }
      const made = await this.#run?.edit(edits.map(({ edit }) => edit));
      for (const [index, { at }] of edits.entries())
        if (made !== undefined && made[index] !== "done") outcomes[at] = "conflict";
    }
    return outcomes;
  }
}

/** A store that only predicts the outcomes of creates. */
export function dryStore(sql: SqlConnection): Pick<PlantStore, "create"> {
  return {
    async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
      const outcomes: Outcome[] = [];
      const created = new Map<bigint, NewPlant>();
      for (const some of parts(batch)) {
        const stored = await storedPlants(
          sql,
          some.map(({ plant }) => plant.id),
        );
        for (const { plant } of some) {
          const found = created.get(plant.id) ?? stored.get(plant.id);
          if (found === undefined) created.set(plant.id, plant);
          outcomes.push(found === undefined ? "created" : compareWithStored(found, plant));
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
