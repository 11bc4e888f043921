// The schema, as one migration for each version. A released one is never edited: add another below.

import type { Contract, ContractSource } from "../../contract/contract.ts";
import { OperatorError } from "../../operator-error.ts";
import {
  columnDefinitions,
  columnStatements,
  type FoundStore,
  hasColumns,
  idColumnType,
  isSameSource,
} from "../store-contract.ts";
import type { Database } from "./driver.ts";

/** "plnt": the application_id in the file header, which tells a store from other databases. */
const applicationId = 0x706c6e74;

const migrations: readonly ((contract: Contract) => string)[] = [
  // `contract` has the description that the store was opened with last, and its collection. A
  // creator is null where it is unknown. An edit has what the plant was and became, as JSON, and
  // when and by whom a deleted one was created.
  (contract) => `CREATE TABLE plants (
     id         ${idColumnType(contract, "sqlite")} PRIMARY KEY,
     ${columnDefinitions(contract, "sqlite")},
     created_at INTEGER NOT NULL,
     creator    INTEGER
   ) STRICT${contract.id.type.kind === "integer" ? "" : ", WITHOUT ROWID"};

   CREATE TABLE contract (text TEXT NOT NULL, collection TEXT) STRICT;
   CREATE TABLE creators (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;

   CREATE TABLE tokens (
     hash            TEXT PRIMARY KEY,
     name            TEXT NOT NULL,
     created_at      INTEGER NOT NULL,
     expires_at      INTEGER,
     overlap_ends_at INTEGER,
     revoked_at      INTEGER,
     last_used_at    INTEGER,
     creator         INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE token_version (version INTEGER NOT NULL) STRICT;
   INSERT INTO token_version VALUES (0);

   CREATE TABLE edits (
     run        TEXT NOT NULL,
     seq        INTEGER NOT NULL,
     plant_id   ${idColumnType(contract, "sqlite")} NOT NULL,
     edited_at  INTEGER NOT NULL,
     editor     TEXT NOT NULL,
     before     TEXT,
     after      TEXT,
     created_at INTEGER NOT NULL,
     creator    INTEGER,
     PRIMARY KEY (plant_id, run, seq)
   ) STRICT;
   CREATE INDEX edits_by_run ON edits (run, seq);
   CREATE INDEX edits_by_time ON edits (edited_at, run, seq);`,
];

/** The schema version that this program works with. */
export const newestVersion = migrations.length;

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
  if (version > newestVersion) {
    throw new OperatorError(
      `${path} has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
    );
  }
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
  if (version === 0) return { version, source: undefined };
  const row = database
    .query<{ text: string; collection: string | null }, []>("SELECT text, collection FROM contract")
    .get();
  const source = row === null ? undefined : { text: row.text, collection: row.collection ?? undefined };
  return { version, source };
}

/** Whether a file has the newest version and this contract. */
export function isUpToDate(database: Database, path: string, contract: Contract): boolean {
  const { version, source } = findStore(database, path);
  return (
    version === newestVersion &&
    isSameSource(source, contract.source) &&
    hasColumns(contract, plantColumns(database))
  );
}

/**
 * Upgrades a file to the newest version and to a contract, in one transaction, once if several
 * processes start.
 *
 * @param found the source that the contract was chosen for: if the store has another one now, it is
 *   false.
 */
export function migrate(
  database: Database,
  path: string,
  contract: Contract,
  found?: ContractSource,
): boolean {
  const upgrade = database.transaction(() => {
    const { version, source } = findStore(database, path);
    if (source !== undefined && (found === undefined || !isSameSource(source, found))) return false;
    for (const migration of migrations.slice(version)) database.run(migration(contract));
    for (const statement of columnStatements(contract, "sqlite", plantColumns(database)))
      database.run(statement);
    database.run("DELETE FROM contract");
    const { text, collection = null } = contract.source;
    database.run("INSERT INTO contract (text, collection) VALUES (?, ?)", [text, collection]);
    database.run(`PRAGMA application_id = ${applicationId}`);
    database.run(`PRAGMA user_version = ${newestVersion}`);
    return true;
  });
  return upgrade.immediate();
}

/** The types of the columns by their names. */
function plantColumns(database: Database): Map<string, string> {
  const columns = database.query<{ name: string; type: string }, []>("PRAGMA table_info(plants)").all();
  return new Map(columns.map(({ name, type }) => [name, type]));
}

function pragma(database: Database, name: string): number {
  return Number(database.query(`PRAGMA ${name}`).values()[0]?.[0]);
}
