// The schema, as one migration for each version, in statements: Citus sends each to its nodes. A
// released migration is never edited: add another below it.

import { OperatorError } from "../../operator-error.ts";
import { addColumnStatements, columnDefinitions, missingFields } from "../field-columns.ts";
import { DatabaseError } from "./driver.ts";
import { isUndefinedTable } from "./errors.ts";
import type { HostPool, Queries } from "./host-pool.ts";
import type { Primary } from "./primary.ts";

const migrations: readonly (readonly string[])[] = [
  // The columns are described in sqlite/migrations.ts.
  [
    `CREATE TABLE plants (
       id         bigint PRIMARY KEY,
       ${columnDefinitions("postgres")},
       created_at bigint,
       creator    integer
     )`,

    "CREATE TABLE creators (id integer PRIMARY KEY, name text NOT NULL UNIQUE)",

    `CREATE TABLE tokens (
       hash            text PRIMARY KEY,
       name            text NOT NULL,
       created_at      bigint NOT NULL,
       expires_at      bigint,
       overlap_ends_at bigint,
       revoked_at      bigint,
       last_used_at    bigint,
       creator         integer NOT NULL
     )`,
    "CREATE TABLE token_version (version integer NOT NULL)",
    "INSERT INTO token_version VALUES (0)",

    `CREATE TABLE edits (
       run        text NOT NULL,
       seq        bigint NOT NULL,
       plant_id   bigint NOT NULL,
       edited_at  bigint NOT NULL,
       editor     text NOT NULL,
       before     text,
       after      text,
       created_at bigint,
       creator    integer,
       PRIMARY KEY (plant_id, run, seq)
     )`,
    "CREATE INDEX edits_by_run ON edits (run, seq)",
    "CREATE INDEX edits_by_time ON edits (edited_at, run, seq)",
  ],
];

/** The time limit of one statement of a migration, which may read or rewrite a large table. */
const statementMsMax = 6 * 3_600_000;

/** The schema version that this program works with. */
export const newestVersion = migrations.length;

const insufficientPrivilege = "42501";

/** The advisory lock of a change of the schema: "plant", which no one else chooses by chance. */
const schemaLock = 0x70_6c_61_6e_74n;

/** Rejects with an OperatorError unless the schema has this version. Needs only to read. */
export async function assertSchema(primary: Primary): Promise<void> {
  const version = await primary.withRetry(schemaVersion);
  if (version === undefined)
    throw new OperatorError('there is no plant store in this database; run "plantstore migrate" first');
  assertNotNewer(version);
  const missing = missingFields(await primary.withRetry(plantColumns));
  if (missing.length > 0)
    throw new OperatorError(
      `the database has no column for ${missing.join(", ")}; run "plantstore migrate" first`,
    );
  if (version < newestVersion) {
    throw new OperatorError(
      `the database has schema version ${version}, but this program needs ${newestVersion}; run "plantstore migrate" first`,
    );
  }
}

/**
 * Creates the schema or upgrades it to this version, once if several servers start. Writes nothing
 * if it has that version.
 */
export async function migrate(primary: Primary): Promise<void> {
  const version = await primary.withRetry(schemaVersion);
  assertNotNewer(version ?? 0);
  if (version === newestVersion && missingFields(await primary.withRetry(plantColumns)).length === 0) return;
  const options = { statementMs: statementMsMax, lockMs: statementMsMax };
  try {
    await primary.withRetry((pool) => pool.transaction(upgrade, options));
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const advice =
      error.code === insufficientPrivilege
        ? 'run "plantstore migrate" as a user that may create tables'
        : "fix the cause, or name another database";
    throw new OperatorError(`the schema cannot be created: ${error.message} (${error.code}); ${advice}`);
  }
}

async function schemaVersion(pool: HostPool): Promise<number | undefined> {
  try {
    const { rows } = await pool.query<{ version: number }>("SELECT version FROM plantstore_schema");
    return rows[0]?.version;
  } catch (error) {
    if (isUndefinedTable(error)) return undefined;
    throw error;
  }
}

async function plantColumns(connection: Queries): Promise<string[]> {
  const { rows } = await connection.query<{ attname: string }>(
    "SELECT attname FROM pg_attribute WHERE attrelid = 'plants'::regclass AND attnum > 0 AND NOT attisdropped",
  );
  return rows.map(({ attname }) => attname);
}

/** Runs the migrations that are missing. */
async function upgrade(connection: Queries): Promise<void> {
  // A second server waits here, and then finds the newest version.
  await connection.query(`SELECT pg_advisory_xact_lock(${schemaLock})`);
  await connection.query(
    "CREATE TABLE IF NOT EXISTS plantstore_schema (only_row bool PRIMARY KEY, version int4 NOT NULL, CHECK (only_row))",
  );
  const { rows } = await connection.query<{ version: number }>("SELECT version FROM plantstore_schema");
  const version = rows[0]?.version ?? 0;
  assertNotNewer(version);
  for (const statement of migrations.slice(version).flat()) await connection.query(statement);
  const missing = missingFields(await plantColumns(connection));
  const { rows: plants } =
    missing.length === 0 ? { rows: [] } : await connection.query("SELECT 1 FROM plants LIMIT 1");
  for (const statement of addColumnStatements(missing, "postgres", { hasPlants: plants.length > 0 }))
    await connection.query(statement);
  await connection.query(
    `INSERT INTO plantstore_schema (only_row, version) VALUES (true, $1)
     ON CONFLICT (only_row) DO UPDATE SET version = excluded.version`,
    [newestVersion],
  );
}

function assertNotNewer(version: number): void {
  if (version <= newestVersion) return;
  throw new OperatorError(
    `the database has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
  );
}
