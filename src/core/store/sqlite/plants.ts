// The plants table: commits batches, reads single plants, exports and counts.

import type { ColumnValue } from "../../contract/field-types.ts";
import {
  countCodeUnits,
  fieldNames,
  groupField,
  type PlantColumns,
  sample,
  titleField,
} from "../../contract/fields.ts";
import { type NewPlant, toColumns, toNewPlant } from "../../contract/plant.ts";
import {
  type Creation,
  compareWithStored,
  type ExportFilter,
  type NewEntry,
  type OnUnavailable,
  type Outcome,
  type StoredPlant,
} from "../plant-store.ts";
import type { Database } from "./driver.ts";
import { batchFailure } from "./errors.ts";

type PlantRow = PlantColumns & { readonly id: bigint };

/** The columns of a plant, as they are selected. */
const plantColumns = ["id", ...fieldNames].map((column) => `plants.${column}`).join(", ");

/** Longer than most, so that the probe does not find room where a create finds none. */
const probeName = "x".repeat(100);

/** Plants that an export reads at a time: 100 to 10,000 cost the same for each plant. */
const exportRowsMax = 1_000;

/** UTF-16 code units that an export holds at a time: the bound on its memory. */
const exportCodeUnitsMax = 2 ** 20;

export class SqlitePlants {
  readonly #database: Database;
  readonly #onUnavailable: OnUnavailable;
  readonly #beforeCommit: () => void;
  // Prepared once: to parse the first two took 11 µs a batch. Closing the database finalizes what
  // `query` has prepared; another open statement would keep SQLite from removing the WAL.
  readonly #begin;
  readonly #commitTransaction;
  readonly #insert;
  readonly #select;

  /** @param beforeCommit may throw SQLite's own error. */
  constructor(database: Database, onUnavailable: OnUnavailable, beforeCommit: () => void = () => undefined) {
    this.#database = database;
    this.#onUnavailable = onUnavailable;
    this.#beforeCommit = beforeCommit;
    this.#begin = database.query("BEGIN IMMEDIATE");
    this.#commitTransaction = database.query("COMMIT");
    this.#insert = database.query<never, [bigint, bigint, number | null, ...ColumnValue[]]>(
      `INSERT INTO plants (id, created_at, creator, ${fieldNames.join(", ")})
       VALUES (?, ?, ?${", ?".repeat(fieldNames.length)}) ON CONFLICT (id) DO NOTHING`,
    );
    this.#select = database.query<PlantRow, [bigint]>(`SELECT ${plantColumns} FROM plants WHERE id = ?`);
  }

  /**
   * Commits a batch in one transaction, and if that fails each plant by itself. See
   * PlantStore.create. Throws SQLite's own error if an fsync has failed; the connection must not be
   * used afterwards.
   */
  create(batch: readonly NewEntry[]): Outcome[] {
    try {
      this.#beforeCommit();
      return this.#commit(batch);
    } catch (error) {
      const { reason, mayCommitSingly } = batchFailure(error);
      this.#onUnavailable(reason);
      const mayWrite = mayCommitSingly && batch.length > 1;
      return batch.map((entry) => this.#commitSingly(entry, mayWrite));
    }
  }

  /** Commits what a create writes, and leaves no plant behind. Throws SQLite's own error. */
  probe(): void {
    const id = crypto.getRandomValues(new BigInt64Array(1))[0] ?? 0n;
    const commit = this.#database.transaction(() => {
      const outcome = this.#insertOne(
        { plant: { ...sample({ [titleField]: probeName }), id }, creator: null },
        BigInt(Date.now()),
      );
      // A plant may have this id by chance.
      if (outcome === "created") this.#database.run("DELETE FROM plants WHERE id = ?", [id]);
    });
    commit.immediate();
  }

  get(id: bigint): NewPlant | undefined {
    const row = this.#select.get(id);
    return row === null ? undefined : toNewPlant(row.id, row);
  }

  /**
   * Commits one plant of a batch that failed. Replays and conflicts need no disk, and a small plant
   * may fit where a large one does not.
   */
  #commitSingly(entry: NewEntry, mayWrite: boolean): Outcome {
    const { plant } = entry;
    try {
      const stored = this.get(plant.id);
      if (stored !== undefined) return compareWithStored(stored, plant);
      return mayWrite ? (this.#commit([entry])[0] ?? "unavailable") : "unavailable";
    } catch (error) {
      this.#onUnavailable(batchFailure(error).reason);
      return "unavailable";
    }
  }

  #commit(batch: readonly NewEntry[]): Outcome[] {
    this.#begin.run();
    try {
      const createdAt = BigInt(Date.now());
      const outcomes = batch.map((entry) => this.#insertOne(entry, createdAt));
      this.#commitTransaction.run();
      return outcomes;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      throw error;
    }
  }

  #insertOne({ plant, creator }: NewEntry, createdAt: bigint): Outcome {
    const { changes } = this.#insert.run(plant.id, createdAt, creator, ...toColumns(plant));
    if (Number(changes) === 1) return "created";
    const stored = this.get(plant.id);
    if (stored === undefined) throw new Error(`SQLite neither inserted nor found the plant ${plant.id}`);
    return compareWithStored(stored, plant);
  }
}

/** A plant of an export, with its id as a bigint. */
export type SqliteStoredPlant = StoredPlant & { readonly id: bigint };

/** Exports plants ordered by id. One statement is one snapshot, however long it takes. */
export function* exportPlants(database: Database, filter: ExportFilter): Generator<SqliteStoredPlant[]> {
  const { where, values } = whereClause(filter);
  const [columns, creator] = filter.withCreation
    ? [`${plantColumns}, created_at, creators.name AS creator`, "LEFT JOIN creators ON creators.id = creator"]
    : [plantColumns, ""];
  const select = database.prepare<PlantRow & CreationColumns, (bigint | string)[]>(
    `SELECT ${columns} FROM plants ${creator} ${where} ORDER BY plants.id`,
  );
  try {
    let plants: SqliteStoredPlant[] = [];
    let codeUnits = 0;
    for (const row of select.iterate(...values)) {
      const plant = toNewPlant(row.id, row);
      plants.push(filter.withCreation ? { ...plant, creation: toCreation(row) } : plant);
      codeUnits += countCodeUnits(plant);
      if (plants.length < exportRowsMax && codeUnits < exportCodeUnitsMax) continue;
      yield plants;
      plants = [];
      codeUnits = 0;
    }
    if (plants.length > 0) yield plants;
  } finally {
    select.finalize();
  }
}

/** Counts the plants that an export has. */
export function countPlants(database: Database, filter: ExportFilter): number {
  const { where, values } = whereClause(filter);
  return Number(database.query(`SELECT count(*) FROM plants ${where}`).values(...values)[0]?.[0]);
}

function whereClause({ group, sinceId }: ExportFilter): { where: string; values: (bigint | string)[] } {
  const conditions = [
    ...(sinceId === undefined ? [] : ["plants.id > ?"]),
    ...(group === undefined ? [] : [`${groupField} = ?`]),
  ];
  const values = [sinceId, group].filter((value) => value !== undefined);
  return { where: conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`, values };
}

/** Undefined unless the export has creations. */
interface CreationColumns {
  readonly created_at?: bigint | null;
  readonly creator?: string | null;
}

function toCreation({ created_at = null, creator = null }: CreationColumns): Creation {
  return { createdAt: created_at === null ? null : Number(created_at), token: creator };
}
