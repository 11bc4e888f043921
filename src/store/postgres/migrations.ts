// The schema, version by version. A migration that was released is never edited: add one below it.

import { OperatorError } from "../../operator-error.ts";
import { begin } from "./connection.ts";
import { DatabaseError, type Pool, type PoolClient } from "./driver.ts";
import type { Primary } from "./primary.ts";

const migrations: readonly string[] = [
  `CREATE TABLE plants (
     id   bigint PRIMARY KEY,
     name text NOT NULL,
     tag  text
   );
   CREATE TABLE tokens (
     hash       text PRIMARY KEY,
     name       text NOT NULL,
     created_at bigint NOT NULL,
     expires_at bigint,
     revoked_at bigint
   );`,

  // Rotation, which notes at the new token when the older ones of its name end; and the last use.
  `ALTER TABLE tokens ADD COLUMN predecessors_end_at bigint;
   ALTER TABLE tokens ADD COLUMN last_used_at bigint;`,

  // What has changed, and the tokens of a name, found without reading all.
  `ALTER TABLE tokens ADD COLUMN revision bigint NOT NULL DEFAULT 0;
   CREATE INDEX tokens_by_revision ON tokens (revision);
   CREATE INDEX tokens_by_name ON tokens (name, revoked_at);`,
];

/** The schema version that this program works with, and that an open store has. */
export const newestVersion = migrations.length;

/** Undefined table; on some engines the row that names the version may not be there yet either. */
const undefinedTable = "42P01";

const insufficientPrivilege = "42501";

/** What two servers that create one table at the same moment get to see: duplicate table, type or row. */
const raceStates = ["42P07", "42710", "23505"];

/** Throws an OperatorError unless the schema has this program's version. Needs no right but to read. */
export async function assertSchema(primary: Primary): Promise<void> {
  const version = await primary.withRetry(schemaVersion);
  if (version === undefined)
    throw new OperatorError('there is no plant store in this database; run "plantstore migrate" first');
  if (version < newestVersion) {
    throw new OperatorError(
      `the database has schema version ${version}, but this program needs ${newestVersion}; run "plantstore migrate" first`,
    );
  }
  assertNotNewer(version);
}

/**
 * Brings the schema to this program's version; safe when several servers start at once. Touches nothing if it has it.
 * Gives whether there was none before.
 */
export async function migrate(primary: Primary): Promise<boolean> {
  const version = await primary.withRetry(schemaVersion);
  assertNotNewer(version ?? 0);
  if (version === newestVersion) return false;
  try {
    await primary.runOnConnection(makeVersionTable);
    return await primary.runOnConnection(upgrade);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const advice =
      error.code === insufficientPrivilege
        ? 'run "plantstore migrate" as a user that may create tables'
        : "see to it, or name another database";
    throw new OperatorError(`the schema cannot be made: ${error.message} (${error.code}); ${advice}`);
  }
}

async function schemaVersion(pool: Pool): Promise<number | undefined> {
  try {
    const { rows } = await pool.query<{ version: number }>("SELECT version FROM plantstore_schema");
    return rows[0]?.version;
  } catch (error) {
    if (error instanceof DatabaseError && error.code === undefinedTable) return undefined;
    throw error;
  }
}

async function makeVersionTable(connection: PoolClient): Promise<void> {
  try {
    await connection.query(
      "CREATE TABLE IF NOT EXISTS plantstore_schema (only_row bool PRIMARY KEY, version int4 NOT NULL, CHECK (only_row))",
    );
  } catch (error) {
    // IF NOT EXISTS does not see a table that another server is just about to commit.
    if (!(error instanceof DatabaseError && raceStates.includes(error.code ?? ""))) throw error;
  }
}

/** Gives whether there was no schema before. */
async function upgrade(connection: PoolClient): Promise<boolean> {
  await begin(connection);
  await connection.query(
    "INSERT INTO plantstore_schema (only_row, version) VALUES (true, 0) ON CONFLICT (only_row) DO NOTHING",
  );
  // Whoever comes second waits here, and then finds the work done.
  const { rows } = await connection.query<{ version: number }>(
    "SELECT version FROM plantstore_schema FOR UPDATE",
  );
  const version = rows[0]?.version ?? 0;
  assertNotNewer(version);
  for (const migration of migrations.slice(version)) await connection.query(migration);
  await connection.query("UPDATE plantstore_schema SET version = $1", [newestVersion]);
  await connection.query("COMMIT");
  return version === 0;
}

function assertNotNewer(version: number): void {
  if (version <= newestVersion) return;
  throw new OperatorError(
    `the database has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
  );
}
