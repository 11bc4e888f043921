// The schema, as one migration for each version, in statements: Citus sends each to its nodes. A
// released migration is never edited: add another below it.

import type { Contract, ContractSource } from "../../contract/contract.ts";
import { OperatorError } from "../../operator-error.ts";
import {
  chooseContract,
  columnDefinitions,
  columnStatements,
  type FoundStore,
  hasColumns,
  idColumnType,
  isSameSource,
} from "../store-contract.ts";
import { DatabaseError } from "./driver.ts";
import { isUndefinedTable } from "./errors.ts";
import type { Queries } from "./host-pool.ts";
import type { Primary } from "./primary.ts";

const migrations: readonly ((contract: Contract) => readonly string[])[] = [
  // The columns are described in sqlite/migrations.ts.
  (contract) => [
    `CREATE TABLE plants (
       id         ${idColumnType(contract, "postgres")} PRIMARY KEY,
       ${columnDefinitions(contract, "postgres")},
       created_at bigint NOT NULL,
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
       plant_id   ${idColumnType(contract, "postgres")} NOT NULL,
       edited_at  bigint NOT NULL,
       editor     text NOT NULL,
       before     text,
       after      text,
       created_at bigint NOT NULL,
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
const newestVersion = migrations.length;

const insufficientPrivilege = "42501";

/** The advisory lock of a change of the schema: "plant", which no one else chooses by chance. */
const schemaLock = 0x70_6c_61_6e_74n;

/**
 * Chooses the contract of the store, and, if it may, brings the schema to this version and to that
 * contract, once if several servers start. Otherwise it only reads. Rejects with an OperatorError.
 */
export async function openSchema(
  primary: Primary,
  mayMigrate: boolean,
  wanted: ContractSource | undefined,
): Promise<Contract> {
  for (;;) {
    const found = await primary.withRetry(findStore);
    if (found.version > newestVersion) throw tooNew(found.version);
    if (!mayMigrate) assertVersion(found);
    const contract = await chooseContract(found, wanted);
    if (await primary.withRetry((pool) => isUpToDate(pool, found, contract))) return contract;
    if (!mayMigrate) {
      const command =
        wanted === undefined ? '"plantstore migrate"' : '"plantstore migrate" with this --contract';
      throw new OperatorError(`the database has another contract; run ${command} first`);
    }
    // False if another server has changed the contract meanwhile.
    if (await migrate(primary, contract, found.source)) return contract;
  }
}

async function isUpToDate(
  pool: Queries,
  { version, source }: FoundStore,
  contract: Contract,
): Promise<boolean> {
  return (
    version === newestVersion &&
    isSameSource(source, contract.source) &&
    hasColumns(contract, await plantColumns(pool))
  );
}

async function migrate(
  primary: Primary,
  contract: Contract,
  source: ContractSource | undefined,
): Promise<boolean> {
  const options = { statementMs: statementMsMax, lockMs: statementMsMax };
  try {
    return await primary.withRetry((pool) =>
      pool.transaction((connection) => upgrade(connection, contract, source), options),
    );
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const advice =
      error.code === insufficientPrivilege
        ? 'run "plantstore migrate" as a user that may create tables'
        : "fix the cause, or name another database";
    throw new OperatorError(`the schema cannot be created: ${error.message} (${error.code}); ${advice}`);
  }
}

async function findStore(pool: Queries): Promise<FoundStore> {
  const version = await schemaVersion(pool);
  if (version === 0) return { version, source: undefined };
  const { rows } = await pool.query<{ contract: string | null; collection: string | null }>(
    "SELECT contract, collection FROM plantstore_schema",
  );
  const { contract = null, collection = null } = rows[0] ?? {};
  const source = contract === null ? undefined : { text: contract, collection: collection ?? undefined };
  return { version, source };
}

/** 0 if there is no store. */
async function schemaVersion(pool: Queries): Promise<number> {
  try {
    const { rows } = await pool.query<{ version: number }>("SELECT version FROM plantstore_schema");
    return rows[0]?.version ?? 0;
  } catch (error) {
    if (isUndefinedTable(error)) return 0;
    throw error;
  }
}

/** The types of the columns by their names. */
async function plantColumns(connection: Queries): Promise<Map<string, string>> {
  const { rows } = await connection.query<{ attname: string; type: string }>(
    `SELECT attname, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = 'plants'::regclass AND attnum > 0 AND NOT attisdropped`,
  );
  return new Map(rows.map(({ attname, type }) => [attname, type]));
}

/** Runs the migrations that are missing; false if the store has another contract now. */
async function upgrade(
  connection: Queries,
  contract: Contract,
  found: ContractSource | undefined,
): Promise<boolean> {
  // A second server waits here, and then finds the newest version.
  await connection.query(`SELECT pg_advisory_xact_lock(${schemaLock})`);
  await connection.query(
    `CREATE TABLE IF NOT EXISTS plantstore_schema
       (only_row bool PRIMARY KEY, version int4 NOT NULL, contract text, collection text, CHECK (only_row))`,
  );
  const { version, source } = await findStore(connection);
  if (version > newestVersion) throw tooNew(version);
  if (source !== undefined && (found === undefined || !isSameSource(source, found))) return false;
  for (const statement of migrations.slice(version).flatMap((migration) => migration(contract)))
    await connection.query(statement);
  for (const statement of columnStatements(contract, "postgres", await plantColumns(connection)))
    await connection.query(statement);
  const { text, collection = null } = contract.source;
  await connection.query(
    `INSERT INTO plantstore_schema (only_row, version, contract, collection) VALUES (true, $1, $2, $3)
     ON CONFLICT (only_row)
     DO UPDATE SET version = excluded.version, contract = excluded.contract, collection = excluded.collection`,
    [newestVersion, text, collection],
  );
  return true;
}

/** Throws an OperatorError unless the schema has this version. */
function assertVersion({ version }: FoundStore): void {
  if (version === 0)
    throw new OperatorError('there is no plant store in this database; run "plantstore migrate" first');
  if (version < newestVersion)
    throw new OperatorError(
      `the database has schema version ${version}, but this program needs ${newestVersion}; run "plantstore migrate" first`,
    );
}

function tooNew(version: number): OperatorError {
  return new OperatorError(
    `the database has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
  );
}
