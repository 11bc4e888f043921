// The plants table: batches in, plants out.

import type { NewPlant } from "../../contract/plant.ts";
import { compareWithStored, type OnUnavailable, type Outcome } from "../plant-store.ts";
import { lockWaitMs } from "./database.ts";
import { isFailedFsync } from "./disk-failure.ts";
import { type Database, SQLiteError } from "./driver.ts";

export interface PlantRow {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
}

/** The write-ahead log is copied into the database file whenever it has grown by this much, in 4 KiB pages. */
const checkpointPages = 4_000;

export class SqlitePlants {
  readonly #database: Database;
  readonly #observe: OnUnavailable;
  readonly #insert;
  readonly #select;
  #logWasFsynced = false;
  /** The length of the log, in pages, from which on it is copied. */
  #checkpointAt = checkpointPages;

  constructor(database: Database, observe: OnUnavailable) {
    this.#database = database;
    this.#observe = observe;
    this.#insert = database.prepare<never, [bigint, string, string | null]>(
      "INSERT INTO plants (id, name, tag) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
    );
    this.#select = database.prepare<PlantRow, [bigint]>("SELECT id, name, tag FROM plants WHERE id = ?");
  }

  /**
   * Commits a batch in one transaction; where that fails, judges each plant by itself. See PlantStore.create. Throws
   * SQLite's own error if an fsync has failed: nothing may be asked of this connection then.
   */
  create(batch: readonly NewPlant[]): Outcome[] {
    if (!this.#ensureWalSynced()) return batch.map(() => "unavailable");
    this.checkpointIfLong();
    try {
      return this.#commit(batch);
    } catch (error) {
      const { reason, mayFitAlone } = failureOf(error);
      this.#observe(reason);
      return batch.map((plant) => this.#commitSingly(plant, mayFitAlone && batch.length > 1));
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
   * a checkpoint fsyncs the log. One that waits for no reader will do: where another process reads, the log was not
   * recovered by this one. But where another process is in a checkpoint of its own, as one that has started at the same
   * moment, SQLite does none, and the log may not be safe before the other one is through.
   */
  #ensureWalSynced(): boolean {
    if (this.#logWasFsynced) return true;
    try {
      this.#logWasFsynced = this.#checkpointInTime();
      if (!this.#logWasFsynced) this.#observe("another process has kept the log from being fsynced");
    } catch (error) {
      this.#observe(failureOf(error).reason);
    }
    return this.#logWasFsynced;
  }

  /** Whether a checkpoint was done, as soon as no other one is. */
  #checkpointInTime(): boolean {
    const deadline = performance.now() + lockWaitMs;
    while (!this.#checkpoint("PASSIVE").isDone) {
      if (performance.now() > deadline) return false;
      Bun.sleepSync(1);
    }
    return true;
  }

  /**
   * Copies the log into the database file where it has grown long. Throws SQLite's own error if an fsync has failed.
   *
   * SQLite's own checkpoints say nothing when they fail. One whose fsync failed and is then tried again would leave out
   * the pages that an earlier one had copied, past a reader of an old snapshot, without an fsync. The length of the log
   * costs 5 µs to ask for.
   */
  checkpointIfLong(): void {
    if (this.#checkpoint("NOOP").pages < this.#checkpointAt) return;
    try {
      const { pages, copied } = this.#checkpoint("PASSIVE");
      // What a reader's snapshot holds back is not tried again with every batch.
      this.#checkpointAt = copied === pages ? checkpointPages : pages + checkpointPages / 4;
    } catch (error) {
      this.#observe(failureOf(error).reason);
    }
  }

  /** How long the log is, in pages, and how much of it is in the database file; not done beside another one. */
  #checkpoint(mode: "NOOP" | "PASSIVE"): { isDone: boolean; pages: number; copied: number } {
    const [[isBusy, pages, copied] = []] = this.#database.query(`PRAGMA wal_checkpoint(${mode})`).values();
    return { isDone: Number(isBusy) === 0, pages: Number(pages), copied: Number(copied) };
  }

  /**
   * What kept the batch from the disk need not keep a plant from its answer: replays and conflicts need no disk,
   * and a small plant may fit where a large one does not.
   */
  #commitSingly(plant: NewPlant, mayWrite: boolean): Outcome {
    try {
      const stored = this.get(plant.id);
      if (stored !== undefined) return compareWithStored(stored, plant);
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
    return compareWithStored(stored, plant);
  }
}

/** The plant of a row. */
export function plantFrom({ id, name, tag }: PlantRow): NewPlant {
  return tag === null ? { id, name } : { id, name, tag };
}

/**
 * What SQLite says of a failure, and whether plants of the batch may fit alone: not where it waited for a lock or
 * the disk is broken, as each of them would wait again. Anything else, and an fsync that failed, is thrown on.
 */
function failureOf(error: unknown): { reason: string; mayFitAlone: boolean } {
  if (!(error instanceof SQLiteError) || isFailedFsync(error)) throw error;
  const mayFitAlone = /^SQLITE_(?:FULL|TOOBIG|CONSTRAINT)/.test(error.code ?? "");
  return { reason: `${error.message} (${error.code})`, mayFitAlone };
}
