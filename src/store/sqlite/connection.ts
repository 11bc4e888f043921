// Opens the file of a store, and brings it to the version and the contract that are wanted.

import { existsSync } from "node:fs";
import type { Contract } from "../../contract/contract.ts";
import {
  type ContractChoice,
  type Migration,
  notUpToDate,
  type OnProgress,
  openContract,
} from "../migration/migration.ts";
import { newestVersion } from "../migration/schema.ts";
import type { OpenMode } from "../plant-store.ts";
import type { ListIndex } from "../shared/list-indexes.ts";
import { query, type SqlWork } from "../shared/sql-work.ts";
import { shortenWal } from "./checkpoint.ts";
import type { Database } from "./driver.ts";
import { erase } from "./erase.ts";
import { findStore, migrate, schemaVersion } from "./migrations.ts";
import { assertNotReplaced, describingErrors, openFile } from "./open-file.ts";
import { runWork } from "./sql-work.ts";
import { assertOwnWal } from "./wal-owner.ts";

/** A store file that is open. */
export interface OpenDatabase {
  readonly database: Database;
  readonly contract: Contract;
}

/**
 * Opens a store file so that every commit is on stable storage when it returns: journal_mode=WAL
 * and synchronous=FULL. Rejects with an OperatorError if the file cannot be a store, or not one of
 * the contract that is wanted.
 */
export async function openDatabase(
  path: string,
  mode: OpenMode,
  options: ContractChoice,
): Promise<OpenDatabase> {
  assertOwnWal(path);
  const isNew = mode === "create" && !existsSync(path);
  const choice = isNew ? await checkedChoice(options) : options;
  const { database, id } = openVersion(path, mode);
  try {
    const transaction = pausingTransactions(database, path);
    const opening = {
      engine: "sqlite" as const,
      name: path,
      mayMigrate: mode === "create",
      find: () => describingErrors(path, () => findStore(database, path)),
      transaction,
      migrate: (to: Migration) => describingErrors(path, () => migrate(database, path, to)),
      erase: (_: unknown, onProgress: OnProgress) => erase(database, transaction, onProgress),
      makeIndex: async ({ name, on }: ListIndex) => {
        await transaction(() => query(`CREATE INDEX IF NOT EXISTS "${name}" ON ${on}`));
      },
    };
    const contract = await openContract(opening, choice);
    assertNotReplaced(path, id);
    return { database, contract };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The longest pause between two transactions of a migration, in which creates go on. */
const pauseMsMax = 50;

/** Runs work in transactions, with a pause between two of them as long as the first one took. */
function pausingTransactions(database: Database, path: string) {
  let lastMs = 0;
  return async <Result>(work: () => SqlWork<Result>, mode: "read" | "write" = "write"): Promise<Result> => {
    if (lastMs > 0) await Bun.sleep(Math.min(lastMs, pauseMsMax));
    return describingErrors(path, () => {
      shortenWal(database);
      const startedAt = performance.now();
      const run = database.transaction(() => runWork(database, work()));
      const result = mode === "read" ? run.deferred() : run.immediate();
      lastMs = performance.now() - startedAt;
      return result;
    });
  };
}

/**
 * Compiles and checks the contract of a store that is new: one that cannot be served leaves no file
 * behind. The returned choice does neither again.
 */
async function checkedChoice(choice: ContractChoice): Promise<ContractChoice> {
  const { compiler, contract, beforeMigration } = choice;
  const wanted = contract && (await compiler(contract));
  await beforeMigration?.(wanted);
  const compiled: typeof compiler = async (source) =>
    wanted !== undefined && source?.text === contract?.text ? wanted : compiler(source);
  return { ...choice, compiler: compiled, beforeMigration: undefined };
}

/** Opens a file whose schema may be of any version, where that may be migrated. Throws an OperatorError. */
function openVersion(path: string, mode: OpenMode) {
  return openFile(path, mode, (database) => {
    const version = schemaVersion(database, path);
    if (mode !== "create" && version !== newestVersion) throw notUpToDate(path, version);
  });
}
