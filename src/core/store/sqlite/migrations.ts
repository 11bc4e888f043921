// Finds the version and the contract of a file, and brings it to the newest ones.

import type { Contract } from "../../contract/contract.ts";
import { OperatorError } from "../../operator-error.ts";
import { parseSchemas, schemasJson } from "../shared/kept-schemas.ts";
import {
  assertKnownVersion,
  collectionStatements,
  type FoundStore,
  fieldChecks,
  migrationStatements,
  newestVersion,
  noStore,
  type StoredTables,
  toStoredTables,
} from "../shared/schema.ts";
import {
  type ContractChange,
  countSql,
  isSameSource,
  type MigrationOptions,
  type MigrationReport,
  reportChange,
  type StoredSource,
  sourceOf,
} from "../shared/store-contract.ts";
import type { Database } from "./driver.ts";

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
  const row = database.query<StoredSource, []>("SELECT text, json, schemas FROM contract").get();
  const source = row === null ? undefined : sourceOf(row);
  return { version, source, schemas: row?.schemas ?? null, tables: storedTables(database) };
}

/**
 * Upgrades a file to the newest version and to a contract, in one transaction, once if several
 * processes start.
 *
 * @param change undefined for a store that is new. If the store has another contract than it is from,
 *   the result is undefined.
 */
export function migrate(
  database: Database,
  path: string,
  contract: Contract,
  change: ContractChange = { from: undefined, added: [], addedPaths: [], dropped: [] },
  { dropFields }: Pick<MigrationOptions, "dropFields"> = {},
): MigrationReport | undefined {
  const upgrade = database.transaction(() => {
    const { version, source, schemas } = findStore(database, path);
    if (source !== undefined && !isSameSource(change.from, source)) return undefined;
    for (const statement of migrationStatements(version, "sqlite")) database.run(statement);
    const tables = storedTables(database);
    const counts = change.dropped.map((part) => Number(database.query(countSql(part)).values()[0]?.[0]));
    const report = reportChange(change, counts, dropFields);
    for (const { sql, error } of fieldChecks(change.added, "sqlite", tables))
      if (database.query(sql).get() !== null) throw error;
    for (const statement of collectionStatements(contract.collections, "sqlite", tables))
      database.run(statement);
    // The description that the store was opened with last.
    database.run(
      "CREATE TABLE IF NOT EXISTS contract (text TEXT NOT NULL, json TEXT, schemas TEXT NOT NULL) STRICT",
    );
    database.run("DELETE FROM contract");
    const { text, json = null } = contract.source;
    const kept = schemasJson(parseSchemas(schemas), contract.collections);
    database.run("INSERT INTO contract VALUES (?, ?, ?)", [text, json, kept]);
    database.run(`PRAGMA application_id = ${applicationId}`);
    database.run(`PRAGMA user_version = ${newestVersion}`);
    return report;
  });
  return upgrade.immediate();
}

function storedTables(database: Database): StoredTables {
  const rows = database
    .query<{ table: string; column: string; type: string }, []>(
      `SELECT collections.name AS "table", info.name AS "column", info.type
       FROM collections JOIN pragma_table_info(collections.name) AS info`,
    )
    .all();
  return toStoredTables(rows);
}

function pragma(database: Database, name: string): number {
  return Number(database.query(`PRAGMA ${name}`).values()[0]?.[0]);
}
