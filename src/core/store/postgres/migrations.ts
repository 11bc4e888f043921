// The schema, as one migration for each version, in statements: Citus sends each to its nodes. A
// released migration is never edited: add another below it.

import { OperatorError } from "../../operator-error.ts";
import { storeCreatorsOfTokens, takeOverArrivals } from "../sql-migrations.ts";
import { assertNotWorker, distributeNewTable } from "./citus/distribution.ts";
import { DatabaseError, type PoolClient } from "./driver.ts";
import { isUndefinedTable } from "./errors.ts";
import type { HostPool } from "./host-pool.ts";
import type { Primary } from "./primary.ts";
import { runWork } from "./sql-work.ts";

/** SQL, or a function for what depends on the store. */
type Change = string | ((connection: PoolClient) => Promise<void>);

/**
 * The changes of each version, by transaction; the last one stores the version. An interrupted
 * upgrade is repeated, so it finds what its first transactions have done.
 */
const migrations: readonly (readonly (readonly Change[])[])[] = [
  [
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
  ],

  // Rotation stores in the new token when the older ones of its name end; and the last use.
  [
    [
      "ALTER TABLE tokens ADD COLUMN predecessors_end_at bigint",
      "ALTER TABLE tokens ADD COLUMN last_used_at bigint",
    ],
  ],

  // Finds the tokens that have changed, and those of a name, without a full scan.
  [
    [
      "ALTER TABLE tokens ADD COLUMN revision bigint NOT NULL DEFAULT 0",
      "CREATE INDEX tokens_by_revision ON tokens (revision)",
      "CREATE INDEX tokens_by_name ON tokens (name, revoked_at)",
    ],
  ],

  // When and by whom each plant was created; null if unknown. No plant is rewritten. Servers of
  // earlier versions continue: only the first transaction locks them out, and the last one, which
  // reads all plants for the index, makes them wait.
  [
    [
      "CREATE TABLE IF NOT EXISTS creators (id integer PRIMARY KEY, name text NOT NULL UNIQUE)",
      (connection) => distributeNewTable(connection, "creators"),
      grantCreators,
      dropArrivalTriggers,
      "ALTER TABLE plants ADD COLUMN IF NOT EXISTS created_at bigint, ADD COLUMN IF NOT EXISTS creator integer",
      "ALTER TABLE tokens ADD COLUMN IF NOT EXISTS creator integer",
    ],
    [
      (connection) => runWork(connection, storeCreatorsOfTokens()),
      removeArrivals,
      "DROP TABLE IF EXISTS imported_plants",
    ],
    [
      "DROP INDEX IF EXISTS plants_by_name",
      "DROP INDEX IF EXISTS plants_by_tag",
      "CREATE INDEX IF NOT EXISTS plants_by_creation ON plants (created_at) WHERE created_at IS NOT NULL",
    ],
  ],

  // The history of edits, as on SQLite. Citus distributes it as the plants.
  [
    [
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
      (connection) => distributeNewTable(connection, "edits"),
      grantEdits,
    ],
  ],
];

/** The time limit of one change: the largest read or rewrite a large table. */
const changeMsMax = 6 * 3_600_000;

/** How long a change waits for its lock: creates queue behind it. */
const lockMsMax = 500;

/**
 * Who may read, insert and update tokens may do so with creators. Citus checks UPDATE for an
 * INSERT with ON CONFLICT into a reference table.
 */
function grantCreators(connection: PoolClient): Promise<void> {
  return grantAs(connection, "tokens", "creators", { SELECT: "SELECT", INSERT: "INSERT", UPDATE: "UPDATE" });
}

/** Who may edit plants may record that, and remove what is too old. */
function grantEdits(connection: PoolClient): Promise<void> {
  const toEdit = "SELECT, INSERT, DELETE";
  return grantAs(connection, "plants", "edits", { SELECT: "SELECT", UPDATE: toEdit, DELETE: toEdit });
}

/** Grants privileges on a new table to those who have privileges on another one. */
async function grantAs(
  connection: PoolClient,
  table: string,
  newTable: string,
  privileges: Readonly<Record<string, string>>,
): Promise<void> {
  const { rows } = await connection.query<{ role: string; privilege: string }>(
    `SELECT DISTINCT coalesce(quote_ident(rolname), 'PUBLIC') AS role, privilege_type AS privilege
     FROM pg_class CROSS JOIN LATERAL aclexplode(relacl) AS granted LEFT JOIN pg_roles ON pg_roles.oid = grantee
     WHERE pg_class.oid = '${table}'::regclass AND grantee <> relowner`,
  );
  for (const { role, privilege } of rows) {
    const granted = privileges[privilege];
    if (granted !== undefined) await connection.query(`GRANT ${granted} ON ${newTable} TO ${role}`);
  }
}

/** Whether the index "newest" of earlier versions exists, and has recorded times and tokens. */
async function findArrivals(connection: PoolClient): Promise<{ exist: boolean; areComplete: boolean }> {
  const { rows } = await connection.query<{ exist: boolean; complete: boolean }>(
    `SELECT to_regclass('plant_arrivals') IS NOT NULL AS exist,
            to_regclass('plant_arrivals_by_id') IS NOT NULL AS complete`,
  );
  return { exist: rows[0]?.exist ?? false, areComplete: rows[0]?.complete ?? false };
}

async function dropArrivalTriggers(connection: PoolClient): Promise<void> {
  if (!(await findArrivals(connection)).exist) return;
  for (const name of ["plants_arrive", "plants_depart"]) {
    await connection.query(`DROP TRIGGER IF EXISTS ${name} ON plants`);
    await connection.query(`DROP FUNCTION IF EXISTS ${name}`);
  }
}

/** Removes the index, after what it recorded is taken over. */
async function removeArrivals(connection: PoolClient): Promise<void> {
  const { exist, areComplete } = await findArrivals(connection);
  if (areComplete) await runWork(connection, takeOverArrivals(), changeMsMax);
  if (exist) await connection.query("DROP TABLE plant_arrivals");
}

async function runLong(connection: PoolClient, text: string): Promise<void> {
  const statement = { text, query_timeout: changeMsMax };
  await connection.query(statement);
}

/** The schema version that this program works with. */
export const newestVersion = migrations.length;

const insufficientPrivilege = "42501";

/** SQLSTATEs of two servers that create a table at the same time: duplicate table, type or row. */
const concurrentCreateStates = ["42P07", "42710", "23505"];

/** Rejects with an OperatorError unless the schema has this version. Needs only to read. */
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
 * Creates the schema or upgrades it to this version, once if several servers start. Writes nothing
 * if it has that version. Returns whether there was none before.
 */
export async function migrate(primary: Primary): Promise<boolean> {
  const version = await primary.withRetry(schemaVersion);
  assertNotNewer(version ?? 0);
  if (version === newestVersion) return false;
  await primary.withRetry(assertNotWorker);
  let wasCreated = false;
  try {
    await primary.withRetry(createVersionTable);
    for (const [index, transactions] of migrations.entries()) {
      if (index < (version ?? 0)) continue;
      for (const [step, changes] of transactions.entries()) {
        const stored = step === transactions.length - 1 ? index + 1 : undefined;
        const hasChanged = await primary.withRetry((pool) => upgrade(pool, index, changes, stored));
        if (index === 0) wasCreated = hasChanged;
      }
    }
    return wasCreated;
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
    // On some databases the table can exist before its row does.
    if (isUndefinedTable(error)) return undefined;
    throw error;
  }
}

async function createVersionTable(pool: HostPool): Promise<void> {
  try {
    await pool.query(
      "CREATE TABLE IF NOT EXISTS plantstore_schema (only_row bool PRIMARY KEY, version int4 NOT NULL, CHECK (only_row))",
    );
  } catch (error) {
    // IF NOT EXISTS does not see a table that another server has created and not yet committed.
    if (!(error instanceof DatabaseError && concurrentCreateStates.includes(error.code ?? ""))) throw error;
  }
}

/**
 * Makes some changes of an upgrade from a version, and stores the next version. Returns false if
 * another server has done it.
 */
function upgrade(
  pool: HostPool,
  from: number,
  changes: readonly Change[],
  nextVersion: number | undefined,
): Promise<boolean> {
  const makeChanges = async (connection: PoolClient): Promise<boolean> => {
    await connection.query(
      "INSERT INTO plantstore_schema (only_row, version) VALUES (true, 0) ON CONFLICT (only_row) DO NOTHING",
    );
    // A second server waits here, and then finds a later version.
    await runLong(connection, "SELECT 1 FROM plantstore_schema FOR UPDATE");
    const { rows } = await connection.query<{ version: number }>("SELECT version FROM plantstore_schema");
    const version = rows[0]?.version ?? 0;
    assertNotNewer(version);
    if (version !== from) return false;
    if (pool.traits.synchronousCommit !== undefined)
      await connection.query(`SELECT set_config('lock_timeout', '${lockMsMax}', true)`);
    for (const change of changes)
      await (typeof change === "string" ? runLong(connection, change) : change(connection));
    if (nextVersion !== undefined)
      await connection.query("UPDATE plantstore_schema SET version = $1", [nextVersion]);
    return true;
  };
  return pool.transaction(makeChanges, { statementMs: changeMsMax });
}

function assertNotNewer(version: number): void {
  if (version <= newestVersion) return;
  throw new OperatorError(
    `the database has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
  );
}
