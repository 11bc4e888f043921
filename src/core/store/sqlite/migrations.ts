// The schema, as one migration for each version. A released one is never edited: add another below.

import { OperatorError } from "../../operator-error.ts";
import { storeCreatorsOfTokens, takeOverArrivals } from "../sql-migrations.ts";
import type { Database } from "./driver.ts";
import { runWork } from "./sql-statements.ts";

/** "plnt": the application_id in the file header, which tells a store from other databases. */
const applicationId = 0x706c6e74;

type Migration = string | ((database: Database) => void);

const migrations: readonly Migration[] = [
  `CREATE TABLE plants (
     id   INTEGER PRIMARY KEY,
     name TEXT NOT NULL,
     tag  TEXT
   ) STRICT;
   CREATE TABLE tokens (
     hash       TEXT PRIMARY KEY,
     name       TEXT NOT NULL,
     created_at INTEGER NOT NULL,
     expires_at INTEGER,
     revoked_at INTEGER
   ) STRICT, WITHOUT ROWID;`,

  // Rotation stores in the new token when the older ones of its name end; and the last use.
  `ALTER TABLE tokens ADD COLUMN predecessors_end_at INTEGER;
   ALTER TABLE tokens ADD COLUMN last_used_at INTEGER;`,

  // Finds the tokens that have changed, and those of a name, without a full scan.
  `ALTER TABLE tokens ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
   CREATE INDEX tokens_by_revision ON tokens (revision);
   CREATE INDEX tokens_by_name ON tokens (name, revoked_at);`,

  // When and by whom each plant was created; null where that is unknown. No plant is rewritten.
  (database) => {
    database.run(`
      ALTER TABLE plants ADD COLUMN created_at INTEGER;
      ALTER TABLE plants ADD COLUMN creator INTEGER;
      CREATE TABLE creators (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
      ALTER TABLE tokens ADD COLUMN creator INTEGER;
      DROP INDEX IF EXISTS plants_by_name;
      DROP INDEX IF EXISTS plants_by_tag;
      DROP TABLE IF EXISTS imported_plants`);
    runWork(database, storeCreatorsOfTokens());
    removeArrivals(database);
    database.run("CREATE INDEX plants_by_creation ON plants (created_at) WHERE created_at IS NOT NULL");
  },

  // The history of edits: what a plant was and became, as JSON, and when and by whom a deleted one
  // was created. The runs are numbered by those who edit.
  `CREATE TABLE edits (
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

/** Removes the optional index "newest" of earlier versions, after what it recorded is taken over. */
function removeArrivals(database: Database): void {
  const entries = new Set(database.query("SELECT name FROM sqlite_schema").values().flat());
  if (!entries.has("plant_arrivals")) return;
  database.run("DROP TRIGGER IF EXISTS plants_arrive; DROP TRIGGER IF EXISTS plants_depart");
  // Without this trigger the index recorded neither times nor tokens yet.
  if (entries.has("plants_depart")) {
    // The texts stay as they are, so the index of them need not be written.
    const textTrigger = database.query<{ sql: string }, []>(
      "SELECT sql FROM sqlite_schema WHERE name = 'plants_text_update'",
    );
    const trigger = textTrigger.get()?.sql;
    database.run("DROP TRIGGER IF EXISTS plants_text_update");
    runWork(database, takeOverArrivals());
    if (trigger !== undefined) database.run(trigger);
  }
  database.run("DROP TABLE plant_arrivals");
}

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
  if (version > migrations.length) {
    throw new OperatorError(
      `${path} has schema version ${version}, but this program knows versions up to ${migrations.length}; run a newer plantstore`,
    );
  }
  return version;
}

/** Whether a file is a store of any version, or empty. */
export function isPlantStore(database: Database): boolean {
  const isEmpty = database.query("SELECT 1 FROM sqlite_schema").get() === null;
  return isEmpty || pragma(database, "application_id") === applicationId;
}

/** Upgrades a file to the newest version, in one transaction, once if several processes start. */
export function migrate(database: Database, path: string): void {
  if (schemaVersion(database, path) === migrations.length) return;
  const upgrade = database.transaction(() => {
    for (const migration of migrations.slice(schemaVersion(database, path))) {
      if (typeof migration === "string") database.run(migration);
      else migration(database);
    }
    database.run(`PRAGMA application_id = ${applicationId}`);
    database.run(`PRAGMA user_version = ${migrations.length}`);
  });
  upgrade.immediate();
}

function pragma(database: Database, name: string): number {
  return Number(database.query(`PRAGMA ${name}`).values()[0]?.[0]);
}
