// The SQLite engine with a disk that fails: the real statements on a real SQLite, whose connection is cut short before
// or after a commit, finds the disk full, the lock held, or reads and writes broken.

import { newPlantJson } from "../../../src/contract/plant.ts";
import {
  decodeBatch,
  decodeOutcomes,
  encodeBatch,
  encodeOutcomes,
} from "../../../src/store/sqlite/batch-codec.ts";
import { isFailedFsync } from "../../../src/store/sqlite/disk-failure.ts";
import { Database, SQLiteError } from "../../../src/store/sqlite/driver.ts";
import { exportPlants } from "../../../src/store/sqlite/export.ts";
import { migrate } from "../../../src/store/sqlite/migrations.ts";
import { SqlitePlants } from "../../../src/store/sqlite/plants.ts";
import { SqliteTokens } from "../../../src/store/sqlite/tokens.ts";
import type { Environment, EnvironmentParts, ProcessStore } from "./environment.ts";

/** The process ends during a call. No code may catch this and continue. */
class Killed extends Error {}

type Trouble = "none" | "throws" | "full" | "locked" | "broken" | "fsync" | "killedBefore" | "killedAfter";

const pagesMax = 1_000_000;

export class SqliteEnvironment implements Environment {
  readonly engine = "sqlite";
  readonly retryMsMax = 0;
  lastRefusalAt = Number.NEGATIVE_INFINITY;
  readonly faults: string[] = [];
  readonly #parts: EnvironmentParts;
  readonly #disk = new Database(":memory:", { strict: true, safeIntegers: true });
  readonly #reader: SqlitePlants;
  readonly #likely: readonly Trouble[];
  #trouble: Trouble = "none";
  #stallMs = 0;

  constructor(parts: EnvironmentParts) {
    this.#parts = parts;
    migrate(this.#disk, "the simulated disk");
    this.#reader = new SqlitePlants(this.#disk, () => undefined);
    const all: Trouble[] = ["throws", "full", "locked", "broken", "fsync", "killedBefore", "killedAfter"];
    // Some seeds know some troubles only: many of one kind find what a little of each does not.
    this.#likely = all.filter(() => parts.random.chance(0.5));
  }

  start(fail: () => void): ProcessStore {
    const { time, random } = this.#parts;
    let gone = false;
    let fsyncHasFailed = false;
    const connection = this.#faulty(() => {
      fsyncHasFailed = true;
    });
    let plants: SqlitePlants | undefined;
    let turn: Promise<void> = Promise.resolve();
    const end = () => {
      gone = true;
      if (this.#disk.inTransaction) this.#disk.run("ROLLBACK");
    };
    const commit = (packed: string): string => {
      try {
        plants ??= new SqlitePlants(connection, (reason) => this.#observe(reason));
        const outcomes = encodeOutcomes(plants.create(decodeBatch(packed)));
        if (fsyncHasFailed) this.faults.push("the engine went on after an fsync that failed");
        return outcomes;
      } catch (error) {
        if (!(error instanceof Killed || isFailedFsync(error)))
          this.faults.push(`the engine threw: ${error}`);
        end();
        fail();
        throw error;
      }
    };
    return {
      batchesInFlightMax: 1,
      tokens: new SqliteTokens(this.#disk),
      create: async (batch) => {
        const packed = encodeBatch(batch);
        // To the thread, through the disk, and back; one call after the other.
        const before = turn;
        const done = Promise.withResolvers<void>();
        turn = done.promise;
        await before;
        await time.sleep(random.between(0.01, 0.5) + this.#stallMs);
        if (gone) return never();
        const outcomes = commit(packed);
        await time.sleep(random.between(0.01, 3));
        done.resolve();
        return gone ? never() : decodeOutcomes(outcomes);
      },
      kill: end,
      close: async () => plants?.finalize(),
    };
  }

  get engineThrows(): boolean {
    return this.#trouble === "throws";
  }

  trouble(): void {
    const { random, time, trace } = this.#parts;
    this.#trouble = this.#likely.length === 0 ? "none" : random.pick(this.#likely);
    this.#stallMs = random.chance(0.2) ? random.between(10, 20_000) : 0;
    trace(`disk: ${this.#trouble} ${this.#stallMs.toFixed(3)}`);
    if (this.#trouble === "full") this.#disk.run(`PRAGMA max_page_count = ${this.#pages()}`);
    time.after(random.between(1, 500), () => this.heal());
  }

  heal(): void {
    this.#trouble = "none";
    this.#stallMs = 0;
    this.#disk.run(`PRAGMA max_page_count = ${pagesMax}`);
  }

  durablePlant(id: bigint): string | undefined {
    const plant = this.#reader.get(id);
    return plant === undefined ? undefined : newPlantJson(plant);
  }

  durable(): ReadonlyMap<bigint, string> {
    const all = [...exportPlants(this.#disk, {})].flat();
    return new Map(all.map((plant) => [plant.id, newPlantJson(plant)]));
  }

  close(): void {
    this.#reader.finalize();
    this.#disk.close();
  }

  #pages(): number {
    return Number(this.#disk.query("PRAGMA page_count").values()[0]?.[0]);
  }

  #observe(reason: string): void {
    this.lastRefusalAt = this.#parts.time.now();
    this.#parts.trace(`unavailable: ${reason}`);
  }

  /** The disk as a server's connection meets it. */
  #faulty(failFsync: () => void): Database {
    const { mutation } = this.#parts;
    const run = (sql: string) => {
      if (sql === "BEGIN IMMEDIATE") this.#fail("locked", "SQLITE_BUSY");
      if (sql === "COMMIT") return this.#commit(failFsync);
      return this.#disk.run(mutation.sqliteSql?.(sql) ?? sql);
    };
    const prepare = (sql: string) => {
      const statement = this.#disk.prepare(mutation.sqliteSql?.(sql) ?? sql);
      return {
        run: (...values: never[]) => {
          if (this.#parts.random.chance(0.3)) this.#fail("broken", "SQLITE_IOERR_WRITE");
          if (this.#parts.random.chance(0.3)) this.#findFull();
          return statement.run(...values);
        },
        get: (...values: never[]) => statement.get(...values),
        finalize: () => statement.finalize(),
      };
    };
    const disk = this.#disk;
    const database = {
      run,
      prepare,
      query: (sql: string) => disk.query(sql),
      get inTransaction() {
        return disk.inTransaction;
      },
    };
    return database as unknown as Database;
  }

  #commit(failFsync: () => void): unknown {
    const { random, mutation } = this.#parts;
    if (this.#trouble === "killedBefore" && random.chance(0.5)) throw new Killed();
    if (this.#trouble === "fsync") {
      // As SQLite does: the transaction is rolled back in memory, whatever of it has reached the disk.
      this.#disk.run("ROLLBACK");
      failFsync();
      this.#fail("fsync", mutation.hidesFsync ? "SQLITE_IOERR" : "SQLITE_IOERR_FSYNC");
    }
    const result = this.#disk.run("COMMIT");
    if (this.#trouble === "killedAfter" && random.chance(0.5)) throw new Killed();
    return result;
  }

  /** Not by a limit on the pages alone, as most plants fit into those that are there. */
  #findFull(): void {
    // SQLite has rolled back by itself then, or it has not.
    if (this.#trouble === "full" && this.#parts.random.chance(0.5)) this.#disk.run("ROLLBACK");
    this.#fail("full", "SQLITE_FULL");
  }

  #fail(trouble: Trouble, code: string): void {
    if (this.#trouble === trouble) throw sqliteError(code);
  }
}

/** What a process that is gone answers. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}

/** Only SQLite can make one: so one that it has made gets another code. */
function sqliteError(code: string): SQLiteError {
  const empty = new Database(":memory:");
  try {
    empty.run("COMMIT");
  } catch (error) {
    // Its own properties are read-only.
    if (error instanceof SQLiteError)
      return Object.create(error, { code: { value: code }, message: { value: "simulated" } });
  } finally {
    empty.close();
  }
  throw new Error("SQLite has accepted a COMMIT without a transaction");
}
