// The plants table: batches in, plants out.

import type { NewPlant } from "../../contract/plant.ts";
import { type ObserveUnavailable, type Outcome, outcomeBeside } from "../plant-store.ts";
import { type Database, SQLiteError } from "./driver.ts";

export interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

export class SqlitePlants {
  readonly #database: Database;
  readonly #observe: ObserveUnavailable;
  readonly #insert;
  readonly #select;
  #logWasFsynced = false;

  constructor(database: Database, observe: ObserveUnavailable) {
    this.#database = database;
    this.#observe = observe;
    this.#insert = database.prepare<never, [bigint, string, string | null]>(
      "INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
    );
    this.#select = database.prepare<PlantRow, [bigint]>("SELECT id, name, tag FROM plants WHERE id = ?");
  }

  /** Commits a batch in one transaction; where that fails, judges each plant by itself. See PlantStore.create. */
  create(batch: readonly NewPlant[]): Outcome[] {
    if (!this.#logIsSafe()) return batch.map(() => "unavailable");
    try {
      return this.#commit(batch);
    } catch (error) {
      const { reason, mayFitAlone } = failureOf(error);
      this.#observe(reason);
      return batch.map((plant) => this.#judgeAlone(plant, mayFitAlone && batch.length > 1));
    }
  }

  get(id: bigint): NewPlant | undefined {
    const row = this.#select.get(id);
    return row === null ? undefined : plantFrom(row);
  }

  /** Statements left open would keep the write-ahead log from being removed at the close. */
  finalize(): void {
    this.#insert.finalize();
    this.#select.finalize();
  }

  /**
   * A server that was killed may have left commits in the log that were written but not yet fsynced. They are
   * visible to this one, and a replay of such a plant would be answered without a write: so before the first answer
   * a checkpoint fsyncs the log. One that waits for nobody will do: where another process has the file open, the
   * log was not recovered by this one.
   */
  #logIsSafe(): boolean {
    if (this.#logWasFsynced) return true;
    try {
      this.#database.run("PRAGMA wal_checkpoint(PASSIVE)");
      this.#logWasFsynced = true;
    } catch (error) {
      this.#observe(failureOf(error).reason);
    }
    return this.#logWasFsynced;
  }

  /**
   * What kept the batch from the disk need not keep a plant from its answer: replays and conflicts need no disk,
   * and a small plant may fit where a large one does not.
   */
  #judgeAlone(plant: NewPlant, mayWrite: boolean): Outcome {
    try {
      const stored = this.get(plant.id);
      if (stored !== undefined) return outcomeBeside(stored, plant);
      return mayWrite ? (this.#commit([plant])[0] ?? "unavailable") : "unavailable";
    } catch (error) {
      this.#observe(failureOf(error).reason);
      return "unavailable";
    }
  }

  #commit(batch: readonly NewPlant[]): Outcome[] {
    this.#database.run("BEGIN IMMEDIATE");
    try {
      const outcomes = batch.map((plant) => this.#insertOne(plant));
      this.#database.run("COMMIT");
      return outcomes;
    } catch (error) {
      // SQLite has already rolled back by itself after some errors, a full disk among them.
      if (this.#database.inTransaction) this.#database.run("ROLLBACK");
      throw error;
    }
  }

  #insertOne(plant: NewPlant): Outcome {
    const { changes } = this.#insert.run(plant.id, plant.name, plant.tag ?? null);
    if (Number(changes) === 1) return "created";
    const stored = this.get(plant.id);
    if (stored === undefined) throw new Error(`SQLite neither inserted nor found the plant ${plant.id}`);
    return outcomeBeside(stored, plant);
  }
}

/** The plant of a row. */
export function plantFrom({ id, name, tag }: PlantRow): NewPlant {
  return tag === null ? { id, name } : { id, name, tag };
}

/**
 * What SQLite says of a failure, and whether plants of the batch may fit alone: not where it waited for a lock or
 * the disk is broken, as each of them would wait again. Anything else is a fault of the program, and thrown on.
 */
function failureOf(error: unknown): { reason: string; mayFitAlone: boolean } {
  if (!(error instanceof SQLiteError)) throw error;
  const mayFitAlone = /^SQLITE_(?:FULL|TOOBIG|CONSTRAINT)/.test(error.code ?? "");
  return { reason: `${error.message} (${error.code})`, mayFitAlone };
}
