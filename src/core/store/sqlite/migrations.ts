// The schema, as one migration for each version. A released one is never edited: add another below.

import { OperatorError } from "../../operator-error.ts";
import { addColumnStatements, columnDefinitions, missingFields } from "../field-columns.ts";
import type { Database } from "./driver.ts";

/** "plnt": the application_id in the file header, which tells a store from other databases. */
const applicationId = 0x706c6e74;

const migrations: readonly string[] = [
  // created_at and creator are null where it is unknown when and by whom a plant was created. An
  // edit has what the plant was and became, as JSON, and when and by whom a deleted one was created.
  `CREATE TABLE plants (
     id         INTEGER PRIMARY KEY,
     ${columnDefinitions("sqlite")},
     created_at INTEGER,
     creator    INTEGER
   ) STRICT;

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
     plant_id   INTEGER NOT NULL,
     edited_at  INTEGER NOT NULL,
     editor     TEXT NOT NULL,
     before     TEXT,
     after      TEXT,
     created_at INTEGER,
     creator    INTEGER,
     PRIMARY KEY (plant_id, run, seq)
   ) STRICT;
   CREATE INDEX edits_by_run ON edits (run, seq);
   CREATE INDEX edits_by_time ON edits (edited_at, run, seq);`,
];

/** The schema version that this program works with. */
const newestVersion = migrations.length;

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

/** Whether a file has the newest version, and a column for each field. */
export function isUpToDate(database: Database, path: string): boolean {
  return (
    schemaVersion(database, path) === newestVersion && missingFields(plantColumns(database)).length === 0
  );
}

/** Upgrades a file to the newest version, in one transaction, once if several processes start. */
export function migrate(database: Database, path: string): void {
  const upgrade = database.transaction(() => {
    for (const migration of migrations.slice(schemaVersion(database, path))) database.run(migration);
    const hasPlants = database.query("SELECT 1 FROM plants LIMIT 1").get() !== null;
    const missing = missingFields(plantColumns(database));
    for (const statement of addColumnStatements(missing, "sqlite", { hasPlants })) database.run(statement);
    database.run(`PRAGMA application_id = ${applicationId}`);
    database.run(`PRAGMA user_version = ${newestVersion}`);
  });
  upgrade.immediate();
}

function plantColumns(database: Database): string[] {
  return database
    .query<{ name: string }, []>("PRAGMA table_info(plants)")
    .all()
    .map(({ name }) => name);
}

function pragma(database: Database, name: string): number {
  return Number(database.query(`PRAGMA ${name}`).values()[0]?.[0]);
}
