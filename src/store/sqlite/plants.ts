// The plants table: commits batches, reads single plants, exports and counts.

import type { NewPlant } from "../../contract/plant.ts";
import { compareWithStored, type ExportFilter, type OnUnavailable, type Outcome } from "../plant-store.ts";
import type { Database } from "./driver.ts";
import { batchFailure } from "./errors.ts";
import { Wal } from "./wal.ts";

export interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** Plants that an export reads at a time: 100 to 10,000 cost the same for each plant. */
const exportRowsMax = 1_000;

/** UTF-16 code units of names and tags that an export holds at a time: the bound on its memory where plants are large. */
const exportCodeUnitsMax = 2 ** 20;

export class SqlitePlants {
  readonly #database: Database;
  readonly #onUnavailable: OnUnavailable;
  readonly #wal: Wal;
  /** Prepared once: to parse the two statements took 11 µs a batch. */
  readonly #begin;
  readonly #commitTransaction;
  readonly #insert;
  readonly #select;

  constructor(database: Database, onUnavailable: OnUnavailable, wal: Wal = new Wal(database, onUnavailable)) {
    this.#database = database;
    this.#onUnavailable = onUnavailable;
    this.#wal = wal;
    this.#begin = database.prepare("BEGIN IMMEDIATE");
    this.#commitTransaction = database.prepare("COMMIT");
    this.#insert = database.prepare<never, [bigint, string, string | null]>(
      "INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
    );
    this.#select = database.prepare<PlantRow, [bigint]>("SELECT id, name, tag FROM plants WHERE id = ?");
  }

  /**
   * Commits a batch in one transaction, and if that fails each plant by itself. See PlantStore.create. Throws SQLite's
   * own error if an fsync has failed; the connection must not be used afterwards.
   */
  create(batch: readonly NewPlant[]): Outcome[] {
    if (!this.#wal.ensureSynced()) return batch.map(() => "unavailable");
    if (!this.#wal.makeRoom()) return batch.map((plant) => this.#commitSingly(plant, false));
    try {
      return this.#commit(batch);
    } catch (error) {
      const { reason, mayCommitSingly } = batchFailure(error);
      this.#onUnavailable(reason);
      return batch.map((plant) => this.#commitSingly(plant, mayCommitSingly && batch.length > 1));
    }
  }

  get(id: bigint): NewPlant | undefined {
    const row = this.#select.get(id);
    return row === null ? undefined : toPlant(row);
  }

  /** Finalizes the statements: an open one would keep SQLite from removing the WAL when the database is closed. */
  finalize(): void {
    for (const statement of [this.#begin, this.#commitTransaction, this.#insert, this.#select])
      statement.finalize();
  }

  /**
   * Commits one plant of a batch that failed. Replays and conflicts need no disk, and a small plant may fit where a large
   * one does not.
   */
  #commitSingly(plant: NewPlant, mayWrite: boolean): Outcome {
    try {
      const stored = this.get(plant.id);
      if (stored !== undefined) return compareWithStored(stored, plant);
      return mayWrite ? (this.#commit([plant])[0] ?? "unavailable") : "unavailable";
    } catch (error) {
      this.#onUnavailable(batchFailure(error).reason);
      return "unavailable";
    }
  }

  #commit(batch: readonly NewPlant[]): Outcome[] {
    this.#begin.run();
    try {
      const outcomes = batch.map((plant) => this.#insertOne(plant));
      this.#commitTransaction.run();
      return outcomes;
    } catch (error) {
      // After some errors, such as a full disk, SQLite has already rolled back.
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      throw error;
    }
  }

  #insertOne(plant: NewPlant): Outcome {
    const { changes } = this.#insert.run(plant.id, plant.name, plant.tag ?? null);
    if (Number(changes) === 1) return "created";
    const stored = this.get(plant.id);
    if (stored === undefined) throw new Error(`SQLite neither inserted nor found the plant ${plant.id}`);
    return compareWithStored(stored, plant);
  }
}

/** Exports plants ordered by id. One statement is one snapshot, however long it takes. */
export function* exportPlants(database: Database, filter: ExportFilter): Generator<NewPlant[]> {
  const { where, values } = whereClause(filter);
  const select = database.prepare<PlantRow, (bigint | string)[]>(
    `SELECT id, name, tag FROM plants ${where} ORDER BY id`,
  );
  try {
    let plants: NewPlant[] = [];
    let codeUnits = 0;
    for (const row of select.iterate(...values)) {
      plants.push(toPlant(row));
      codeUnits += row.name.length + (row.tag?.length ?? 0);
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

function whereClause({ tag, sinceId }: ExportFilter): { where: string; values: (bigint | string)[] } {
  const conditions = [
    ...(sinceId === undefined ? [] : ["id > ?"]),
    ...(tag === undefined ? [] : ["tag = ?"]),
  ];
  const values = [sinceId, tag].filter((value) => value !== undefined);
  return { where: conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`, values };
}

/** The plant of a row. */
export function toPlant({ id, name, tag }: PlantRow): NewPlant {
  return tag === null ? { id, name } : { id, name, tag };
}
