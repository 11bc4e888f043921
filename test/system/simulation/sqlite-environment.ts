// The SQLite engine with a disk that fails: the real statements on a real SQLite, with injected
// kills before or after a commit, full disks, locks, and read and write errors.

import { plantJson } from "../../../src/contract/plant.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { newMigration } from "../../../src/store/migration/migration.ts";
import { SqlTokens } from "../../../src/store/shared/sql-tokens.ts";
import { isFailedFsync } from "../../../src/store/sqlite/disk-failure.ts";
import { Database } from "../../../src/store/sqlite/driver.ts";
import { migrate } from "../../../src/store/sqlite/migrations.ts";
import { SqlitePlants } from "../../../src/store/sqlite/plants.ts";
import { BatchMemory, BatchSender } from "../../../src/store/sqlite/shared-batch.ts";
import { Transactions } from "../../../src/store/sqlite/transactions.ts";
import { plantStore } from "../../support/contracts.ts";
import { sqliteError } from "../../support/sqlite-error.ts";
import { tokenDatabase } from "../../support/sqlite-tokens.ts";
import type { ProcessStore, SimulationParts } from "./environment.ts";

/** The process ends during a call. No code may catch it and continue. */
class Killed extends Error {}

type Fault = "none" | "throws" | "full" | "locked" | "broken" | "fsync" | "killedBefore" | "killedAfter";

const pagesMax = 1_000_000;

export class SqliteEnvironment {
  /** Exceptions of the engine that should have been outcomes. */
  readonly violations: string[] = [];
  readonly #parts: SimulationParts;
  readonly #disk = new Database(":memory:", { strict: true, safeIntegers: true });
  readonly #reader: SqlitePlants;
  readonly #likely: readonly Fault[];
  #fault: Fault = "none";
  #stallMs = 0;

  constructor(parts: SimulationParts) {
    this.#parts = parts;
    migrate(this.#disk, "the simulated disk", newMigration("sqlite", plantStore));
    this.#reader = new SqlitePlants(new Transactions(this.#disk), [plantStore], () => undefined);
    const all: Fault[] = ["throws", "full", "locked", "broken", "fsync", "killedBefore", "killedAfter"];
    // Some seeds have only some kinds of faults: many of one kind find bugs that a few of each do
    // not.
    this.#likely = all.filter(() => parts.random.chance(0.5));
  }

  /** Opens the store of a server that starts. `fail` is called when the server has to exit. */
  start(fail: () => void): ProcessStore {
    const { time, random } = this.#parts;
    let hasEnded = false;
    let fsyncHasFailed = false;
    const connection = this.#faulty(() => {
      fsyncHasFailed = true;
    });
    let plants: SqlitePlants | undefined;
    let last: Promise<void> = Promise.resolve();
    const end = () => {
      hasEnded = true;
      if (this.#disk.inTransaction) this.#disk.run("ROLLBACK");
    };
    const memory = new BatchMemory([plantStore], new BatchSender().buffer);
    const commit = (): void => {
      try {
        plants ??= new SqlitePlants(new Transactions(connection), [plantStore], (reason) =>
          this.#onUnavailable(reason),
        );
        memory.writeOutcomes(plants.create(memory.readBatch(), memory.createdAt));
        if (fsyncHasFailed) this.violations.push("the engine went on after an fsync that failed");
      } catch (error) {
        if (!(error instanceof Killed || isFailedFsync(error)))
          this.violations.push(`the engine threw: ${error}`);
        end();
        fail();
        throw error;
      }
    };
    return {
      batchesInFlightMax: 1,
      tokens: new SqlTokens(tokenDatabase(this.#disk)),
      create: async (batch, createdAt = Date.now()) => {
        memory.writeBatch(batch, createdAt);
        // To the worker, through the disk, and back; one call after the other.
        const before = last;
        const done = Promise.withResolvers<void>();
        last = done.promise;
        await before;
        await time.sleep(random.between(0.01, 0.5) + this.#stallMs);
        if (hasEnded) return never();
        commit();
        await time.sleep(random.between(0.01, 3));
        done.resolve();
        return hasEnded ? never() : memory.readResult();
      },
      kill: end,
    };
  }

  /**
   * Whether engines now and then throw instead of returning outcomes, as after an internal error.
   */
  get engineThrows(): boolean {
    return this.#fault === "throws";
  }

  /** Injects a fault of the kinds that this seed has drawn; it ends by itself after some time. */
  injectFault(): void {
    const { random, time, trace } = this.#parts;
    this.#fault = this.#likely.length === 0 ? "none" : random.pick(this.#likely);
    this.#stallMs = random.chance(0.2) ? random.between(10, 20_000) : 0;
    trace(`disk: ${this.#fault} ${this.#stallMs.toFixed(3)}`);
    if (this.#fault === "full") this.#disk.run(`PRAGMA max_page_count = ${this.#pages()}`);
    time.after(random.between(1, 500), () => this.heal());
  }

  heal(): void {
    this.#fault = "none";
    this.#stallMs = 0;
    this.#disk.run(`PRAGMA max_page_count = ${pagesMax}`);
  }

  /** A durably stored plant, as JSON. */
  durablePlant(id: PlantId): string | undefined {
    const plant = this.#reader.get(plantStore, id);
    return plant === undefined ? undefined : plantJson(plantStore, plant);
  }

  durable(): ReadonlyMap<bigint, string> {
    const ids = this.#disk.query<{ id: bigint }, []>("SELECT id FROM plants ORDER BY id").all();
    return new Map(ids.map(({ id }) => [id, this.durablePlant(id) ?? ""]));
  }

  close(): void {
    this.#disk.close();
  }

  #pages(): number {
    return Number(this.#disk.query("PRAGMA page_count").values()[0]?.[0]);
  }

  #onUnavailable(reason: string): void {
    this.#parts.trace(`unavailable: ${reason}`);
  }

  /** The connection of a server, with injected faults. */
  #faulty(failFsync: () => void): Database {
    const { mutation } = this.#parts;
    const run = (sql: string) => {
      if (sql === "BEGIN IMMEDIATE") this.#throwIf("locked", "SQLITE_BUSY");
      if (sql === "COMMIT") return this.#commit(failFsync);
      return this.#disk.run(mutation.sqliteSql?.(sql) ?? sql);
    };
    const query = (sql: string) => {
      const statement = this.#disk.query(mutation.sqliteSql?.(sql) ?? sql);
      return {
        run: (...values: never[]) => {
          if (sql === "BEGIN IMMEDIATE" || sql === "COMMIT") return run(sql);
          if (this.#parts.random.chance(0.3)) this.#throwIf("broken", "SQLITE_IOERR_WRITE");
          if (this.#parts.random.chance(0.3)) this.#failIfFull();
          return statement.run(...values);
        },
        get: (...values: never[]) => statement.get(...values),
      };
    };
    const disk = this.#disk;
    const database = {
      run,
      query,
      get inTransaction() {
        return disk.inTransaction;
      },
    };
    return database as unknown as Database;
  }

  #commit(failFsync: () => void): unknown {
    const { random, mutation } = this.#parts;
    if (this.#fault === "killedBefore" && random.chance(0.5)) throw new Killed();
    if (this.#fault === "fsync") {
      // As SQLite does: the transaction is rolled back in memory, whatever part of it has reached
      // the disk.
      this.#disk.run("ROLLBACK");
      failFsync();
      this.#throwIf("fsync", mutation.hidesFsync ? "SQLITE_IOERR" : "SQLITE_IOERR_FSYNC");
    }
    const result = this.#disk.run("COMMIT");
    if (this.#fault === "killedAfter" && random.chance(0.5)) throw new Killed();
    return result;
  }

  /** A limit on pages alone is not enough, as most plants fit into the existing ones. */
  #failIfFull(): void {
    // SQLite may have rolled back by itself.
    if (this.#fault === "full" && this.#parts.random.chance(0.5)) this.#disk.run("ROLLBACK");
    this.#throwIf("full", "SQLITE_FULL");
  }

  #throwIf(fault: Fault, code: string): void {
    if (this.#fault === fault) throw sqliteError(code);
  }
}

/** The result of a call to a process that has ended. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
