// The schema, as one migration for each version, in statements, as Citus sends each to its nodes by itself. A released
// migration is never edited: add another below it.

import { OperatorError } from "../../operator-error.ts";
import type { ClusterSupport } from "./cluster.ts";
import { begin } from "./connection.ts";
import { DatabaseError, type Pool, type PoolClient } from "./driver.ts";
import { isUndefinedTable } from "./errors.ts";
import type { Primary } from "./primary.ts";

const migrations: readonly (readonly string[])[] = [
  [
    `CREATE TABLE plants (
       id   bigint PRIMARY KEY,
       name text NOT NULL,
       tag  text
     )`,
    `CREATE TABLE tokens (
       hash       text PRIMARY KEY,
       name       text NOT NULL,
       created_at bigint NOT NULL,
       expires_at bigint,
       revoked_at bigint
     )`,
  ],

  // Rotation, which stores in the new token when the older tokens of its name end, and the last use.
  [
    "ALTER TABLE tokens ADD COLUMN predecessors_end_at bigint",
    "ALTER TABLE tokens ADD COLUMN last_used_at bigint",
  ],

  // Finds the tokens that have changed, and those of a name, without a full scan.
  [
    "ALTER TABLE tokens ADD COLUMN revision bigint NOT NULL DEFAULT 0",
    "CREATE INDEX tokens_by_revision ON tokens (revision)",
    "CREATE INDEX tokens_by_name ON tokens (name, revoked_at)",
  ],
];

/** The schema version that this program works with. */
export const newestVersion = migrations.length;

const insufficientPrivilege = "42501";

/** SQLSTATEs of two servers that create a table at the same time: duplicate table, type or row. */
const concurrentCreateStates = ["42P07", "42710", "23505"];

/** Rejects with an OperatorError unless the schema has this program's version. Needs only the privilege to read. */
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
 * Creates the schema or upgrades it to this program's version; safe when several servers start at once. Writes nothing if it
 * has that version. Returns whether there was none before.
 */
export async function migrate(
  primary: Primary,
  cluster: Pick<ClusterSupport, "assertMayMigrate">,
): Promise<boolean> {
  const version = await primary.withRetry(schemaVersion);
  assertNotNewer(version ?? 0);
  if (version === newestVersion) return false;
  await primary.withRetryOnConnection((connection) => cluster.assertMayMigrate(connection));
  try {
    await primary.withRetryOnConnection(createVersionTable);
    return await primary.withRetryOnConnection(upgrade);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const advice =
      error.code === insufficientPrivilege
        ? 'run "plantstore migrate" as a user that may create tables'
        : "fix the cause, or name another database";
    throw new OperatorError(`the schema cannot be created: ${error.message} (${error.code}); ${advice}`);
  }
}

async function schemaVersion(pool: Pool): Promise<number | undefined> {
  try {
    const { rows } = await pool.query<{ version: number }>("SELECT version FROM plantstore_schema");
    return rows[0]?.version;
  } catch (error) {
    // On some databases the table can exist before its row does.
    if (isUndefinedTable(error)) return undefined;
    throw error;
  }
}

async function createVersionTable(connection: PoolClient): Promise<void> {
  try {
    await connection.query(
      "CREATE TABLE IF NOT EXISTS plantstore_schema (only_row bool PRIMARY KEY, version int4 NOT NULL, CHECK (only_row))",
    );
  } catch (error) {
    // IF NOT EXISTS does not see a table that another server has created and not yet committed.
    if (!(error instanceof DatabaseError && concurrentCreateStates.includes(error.code ?? ""))) throw error;
  }
}

/** Returns whether there was no schema before. */
async function upgrade(connection: PoolClient): Promise<boolean> {
  await begin(connection);
  await connection.query(
    "INSERT INTO plantstore_schema (only_row, version) VALUES (true, 0) ON CONFLICT (only_row) DO NOTHING",
  );
  // A second server waits here, and then finds the newest version.
  const { rows } = await connection.query<{ version: number }>(
    "SELECT version FROM plantstore_schema FOR UPDATE",
  );
  const version = rows[0]?.version ?? 0;
  assertNotNewer(version);
  for (const statement of migrations.slice(version).flat()) await connection.query(statement);
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
