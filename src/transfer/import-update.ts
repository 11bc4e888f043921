// An import that replaces stored plants, and its dry run.

import { ApiError } from "../base/errors.ts";
import { parts } from "../base/parts.ts";
import { type Collection, type Field, type Plant, valuesEqual } from "../contract/contract.ts";
import { plantJson } from "../contract/plant.ts";
import type { PlantId } from "../contract/plant-id.ts";
import type { EditRun } from "../plants/edit-run.ts";
import { findByKeys } from "../plants/stored-plants.ts";
import { compareWithStored, type NewEntry, type Outcome } from "../store/plant-store.ts";
import { type ConditionalEdit, editsMax } from "../store/shared/plant-edit.ts";
import { findPlants, nextVersion, type StoredPlant } from "../store/shared/plant-rows.ts";
import type { SqlConnection } from "../store/sql-connection.ts";
import type { CsvHeader } from "./csv.ts";
import type { ImportRecord } from "./record-reader.ts";

/** Differences that a dry run shows. */
const differencesMax = 10;

/** A record, and the plant that it replaces. */
export interface Difference {
  readonly line: number;
  readonly before: Plant;
  readonly after: Plant;
}

/** Replaces the plants that are stored under the ids of records. */
export class Replacement {
  /** The first ones. */
  readonly differences: Difference[] = [];
  readonly #collection: Collection;
  readonly #sql: SqlConnection;
  readonly #run: EditRun | undefined;
  #absent: readonly Field[] = [];

  /** @param run the run of the edits; undefined for a dry run, which makes none. */
  constructor(collection: Collection, sql: SqlConnection, run: EditRun | undefined) {
    this.#collection = collection;
    this.#sql = sql;
    this.#run = run;
  }

  /** Is told the header of the file: stored plants keep the fields that it has no column for. */
  onHeader({ absent }: CsvHeader): void {
    this.#absent = absent;
  }

  /**
   * Replaces the plants that are in conflict with records of a batch, and sets the outcomes of its
   * valid records: `conflict` stays if the stored plant was changed at the same time. Of two
   * records with one id the last one stays.
   */
  async replaceConflicts(batch: readonly ImportRecord[], outcomes: (Outcome | "replaced")[]): Promise<void> {
    const valid = batch.flatMap(({ line, plant, chosen }) =>
      plant instanceof ApiError ? [] : [{ line, plant, key: chosen?.key }],
    );
    const keyed = await findByKeys(
      this.#collection,
      this.#sql,
      valid.flatMap(({ key }, index) => (key && outcomes[index] !== "created" ? [key] : [])),
    );
    // A record with a key has the id that an earlier import chose.
    const records = valid.map(({ line, plant, key }, index) => {
      const id = (key && keyed.get(key)?.id) ?? plant.id;
      return { line, plant: { ...plant, id }, index };
    });
    const ids = new Set(
      records.filter(({ index }) => outcomes[index] === "conflict").map(({ plant }) => plant.id),
    );
    // Includes unchanged records with the same ids: an earlier record may have replaced the plant.
    const updating = records.filter(({ index, plant }) => outcomes[index] !== "created" && ids.has(plant.id));
    /** Plants as earlier records have made them. */
    const replaced = new Map<PlantId, StoredPlant>();
    // The plants of a batch may be short, and those that are stored as long as a body.
    for (const some of parts(updating, editsMax)) {
      const stored = await findPlants(
        this.#collection,
        this.#sql,
        some.map(({ plant }) => plant.id),
      );
      const edits: (ConditionalEdit & { readonly index: number })[] = [];
      for (const { line, plant, index } of some) {
        const { id } = plant;
        const expected = replaced.get(id) ?? stored.get(id);
        const replacement = expected && this.#merge(plant, expected);
        // Deleted at the same time; or, in a dry run, to be created by an earlier record.
        if (expected === undefined || replacement === undefined)
          outcomes[index] = this.#run === undefined ? "replaced" : "conflict";
        else if (valuesEqual(this.#collection, expected.values, replacement.values))
          outcomes[index] = "unchanged";
        else {
          if (this.differences.length < differencesMax)
            this.differences.push({ line, before: expected, after: replacement });
          const version = nextVersion(expected.version);
          edits.push({ id, expected, replacement: replacement.values, version, index });
          replaced.set(id, { ...expected, values: replacement.values, version });
          outcomes[index] = "replaced";
        }
      }
      const made = await this.#run?.edit(this.#collection, edits);
      for (const [at, { index }] of edits.entries())
        if (made !== undefined && made[at] !== "done") outcomes[index] = "conflict";
    }
  }

  #merge({ id, values }: Plant, stored: Plant): Plant {
    const { fields } = this.#collection;
    const isKept = fields.map((field) => this.#absent.includes(field));
    return { id, values: values.map((value, index) => (isKept[index] ? stored.values[index] : value)) };
  }
}

/**
 * A store that only predicts the outcomes of creates. It remembers the ids that it would have
 * created, and a hash of each plant: some 100 bytes a plant.
 */
export function dryStore(collection: Collection, sql: SqlConnection) {
  const created = new Map<PlantId, number | bigint>();
  return {
    collection,
    async create(batch: readonly NewEntry[]): Promise<Outcome[]> {
      const outcomes: Outcome[] = [];
      for (const some of parts(batch, editsMax)) {
        const stored = await findPlants(
          collection,
          sql,
          some.map(({ plant }) => plant.id),
        );
        const keyed = await findByKeys(
          collection,
          sql,
          some.flatMap(({ key }) => key ?? []),
        );
        for (const { plant, key } of some) {
          const found = typeof key === "string" ? keyed.get(key) : stored.get(plant.id);
          const hash = Bun.hash(plantJson(collection, plant));
          const own = key ?? plant.id;
          const before = created.get(own);
          if (found !== undefined) outcomes.push(compareWithStored(collection, found, plant));
          else if (before !== undefined) outcomes.push(before === hash ? "unchanged" : "conflict");
          else {
            created.set(own, hash);
            outcomes.push("created");
          }
        }
      }
      return outcomes;
    },
  };
}
