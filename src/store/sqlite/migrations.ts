// Finds the version and the contract of a file, and brings it to the newest ones.

import { OperatorError } from "../../base/operator-error.ts";
import {
  assertKnownVersion,
  type FoundStore,
  foundStore,
  type Migration,
  type MigrationResult,
  noStore,
  type StoredContract,
  upgradeWork,
} from "../migration/migration.ts";
import { newestVersion } from "../migration/schema.ts";
import type { SqlStatement } from "../sql-connection.ts";
import type { Database } from "./driver.ts";
import { runWork } from "./sql-work.ts";

/** "plnt": the application_id in the file header, which tells a store from other databases. */
const applicationId = 0x706c6e74;

/**
 * The schema version of a file, 0 if it is empty. Throws an OperatorError if the file is another
 * program's, or newer than this one. Changes nothing.
 */
export function schemaVersion(database: Database, path: string): number {
  if (!isPlantStore(database)) {
    throw new OperatorError(
      `${path} is a SQLite database, but not a plant store; name another file with --database`,
    );
  }
  const version = pragma(database, "user_version");
  assertKnownVersion(version, path);
  return version;
}

/** Whether a file is a store of any version, or empty. */
export function isPlantStore(database: Database): boolean {
  const isEmpty = database.query("SELECT 1 FROM sqlite_schema").get() === null;
  return isEmpty || pragma(database, "application_id") === applicationId;
}

/** A store as it is before it is opened. Throws as schemaVersion does. */
export function findStore(database: Database, path: string): FoundStore {
  const version = schemaVersion(database, path);
  if (version === 0) return noStore;
  const row = database.query<StoredContract, []>("SELECT number, text, json, renamed FROM contract").get();
  return runWork(database, foundStore("sqlite", version, row as StoredContract));
}

/** Migrates a file in one transaction, once if several processes start. */
export function migrate(database: Database, path: string, migration: Migration): MigrationResult {
  const upgrade = database.transaction(() =>
    runWork(database, upgradeWork("sqlite", findStore(database, path), migration, keepStatements)),
  );
  return upgrade.immediate();
}

function keepStatements({ number, text, json, renamed }: StoredContract): SqlStatement[] {
  return [
    {
      sql: `CREATE TABLE IF NOT EXISTS contract
              (number INTEGER NOT NULL, text TEXT NOT NULL, json TEXT, renamed TEXT NOT NULL) STRICT`,
    },
    { sql: "DELETE FROM contract" },
    { sql: "INSERT INTO contract VALUES ($1, $2, $3, $4)", parameters: [number, text, json, renamed] },
    { sql: `PRAGMA application_id = ${applicationId}` },
    { sql: `PRAGMA user_version = ${newestVersion}` },
  ];
}

function pragma(database: Database, name: string): number {
  return Number(database.query(`PRAGMA ${name}`).values()[0]?.[0]);
}
