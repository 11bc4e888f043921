// Finds the version and the contract of a database, and brings it to the newest ones.

import type { Contract } from "../../contract/contract.ts";
import { OperatorError } from "../../operator-error.ts";
import type { OpenOptions } from "../plant-store.ts";
import { parseSchemas, schemasJson } from "../shared/kept-schemas.ts";
import {
  assertKnownVersion,
  collectionStatements,
  type FoundStore,
  fieldChecks,
  isUpToDate,
  migrationStatements,
  newestVersion,
  noStore,
  notUpToDate,
  type StoredTables,
  toStoredTables,
} from "../shared/schema.ts";
import {
  type ContractChange,
  chooseContract,
  countSql,
  isSameSource,
  type MigrationOptions,
  type MigrationReport,
  reportChange,
  type StoredSource,
  sourceOf,
} from "../shared/store-contract.ts";
import { DatabaseError } from "./driver.ts";
import { isUndefinedTable } from "./errors.ts";
import type { Queries } from "./host-pool.ts";
import type { Primary } from "./primary.ts";

/** The time limit of one statement of a migration, which may read or rewrite a large table. */
const statementMsMax = 6 * 3_600_000;

/**
 * How long a migration waits for a lock at a time. Creates queue behind it, for less than their own
 * time limit of a second.
 */
const lockMsMax = 500;

/** The pause before the next wait, in which creates go on. */
const lockPauseMs = 2_000;

const insufficientPrivilege = "42501";
const lockNotAvailable = "55P03";

/** The advisory lock of a change of the schema: "plant", which no one else chooses by chance. */
const schemaLock = 0x70_6c_61_6e_74n;

/**
 * Chooses the contract of the store, and, if it may, brings the schema to this version and to that
 * contract, once if several servers start. Otherwise it only reads. Rejects with an OperatorError.
 */
export async function openSchema(
  primary: Primary,
  mayMigrate: boolean,
  { contract: wanted, beforeMigration, ...options }: OpenOptions,
): Promise<Contract> {
  for (;;) {
    const found = await primary.withRetry(findStore);
    if (!mayMigrate) assertVersion(found);
    const { contract, change } = await chooseContract(found.source, found.schemas, wanted);
    // Looks again: another server may have changed the contract meanwhile.
    if (isUpToDate(await primary.withRetry(findStore), contract)) return contract;
    if (!mayMigrate) throw notUpToDate("the database", wanted);
    await beforeMigration?.(wanted && contract);
    const report = await migrate(primary, contract, change, options);
    if (report === undefined) continue;
    options.onMigrated?.(report);
    return contract;
  }
}

async function migrate(
  primary: Primary,
  contract: Contract,
  change: ContractChange,
  { dropFields }: MigrationOptions,
): Promise<MigrationReport | undefined> {
  const options = { statementMs: statementMsMax, lockMs: lockMsMax };
  let isReported = false;
  const run = (connection: Queries) => upgrade(connection, contract, change, dropFields);
  try {
    for (;;) {
      const done = await primary.withRetry(async (pool) => {
        try {
          return { report: await pool.transaction(run, options) };
        } catch (error) {
          if (!(error instanceof DatabaseError) || error.code !== lockNotAvailable) throw error;
          if (!isReported) primary.report(`a lock that ${await findLockHolders(pool)} holds`);
          isReported = true;
          return undefined;
        }
      });
      if (done !== undefined) return done.report;
      await Bun.sleep(lockPauseMs);
    }
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    const advice =
      error.code === insufficientPrivilege
        ? 'run "plantstore migrate" as a user that may create tables'
        : "fix the cause, or name another database";
    throw new OperatorError(`the schema cannot be created: ${error.message} (${error.code}); ${advice}`);
  }
}

/** Names the transactions that have used the plants for longer than a migration waits. */
async function findLockHolders(pool: Queries): Promise<string> {
  const { rows } = await pool.query<{ holders: string | null }>(
    `SELECT string_agg(DISTINCT format('process %s (%s)', pid, application_name), ', ') AS holders
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE relation IN (SELECT to_regclass(quote_ident(name))::oid FROM collections) AND granted AND xact_start < now() - interval '${lockMsMax} ms'`,
  );
  return rows[0]?.holders ?? "another transaction";
}

interface SchemaRow extends Omit<StoredSource, "text"> {
  readonly version: number;
  /** The description that the store was opened with last. */
  readonly contract: string;
}

/** A store before it is opened. Rejects with an OperatorError if a newer program has written it. */
async function findStore(pool: Queries): Promise<FoundStore> {
  const row = await readSchemaRow(pool);
  if (row === undefined || row.version === 0) return noStore;
  const { version, contract, json, schemas } = row;
  assertKnownVersion(version, "the database");
  const source = sourceOf({ text: contract, json });
  return { version, source, schemas, tables: await storedTables(pool) };
}

async function readSchemaRow(pool: Queries): Promise<SchemaRow | undefined> {
  try {
    // All columns, as a newer program may have others.
    return (await pool.query<SchemaRow>("SELECT * FROM plantstore_schema")).rows[0];
  } catch (error) {
    if (isUndefinedTable(error)) return undefined;
    throw error;
  }
}

async function storedTables(connection: Queries): Promise<StoredTables> {
  const { rows } = await connection.query<{ table: string; column: string; type: string }>(
    `SELECT name AS "table", attname AS "column", format_type(atttypid, NULL) AS type
     FROM collections JOIN pg_attribute ON attrelid = to_regclass(quote_ident(name))
     WHERE attnum > 0 AND NOT attisdropped`,
  );
  return toStoredTables(rows);
}

/** Runs the migrations that are missing; undefined if the store has another contract now. */
async function upgrade(
  connection: Queries,
  contract: Contract,
  change: ContractChange,
  dropFields: MigrationOptions["dropFields"],
): Promise<MigrationReport | undefined> {
  // A second server waits here, and then finds the newest version.
  await connection.query(`SELECT pg_advisory_xact_lock(${schemaLock})`);
  await connection.query(
    `CREATE TABLE IF NOT EXISTS plantstore_schema
       (only_row bool PRIMARY KEY, version int4 NOT NULL, contract text NOT NULL, json text,
        schemas text NOT NULL, CHECK (only_row))`,
  );
  const { version, source, schemas } = await findStore(connection);
  if (source !== undefined && !isSameSource(change.from, source)) return undefined;
  for (const statement of migrationStatements(version, "postgres")) await connection.query(statement);
  const tables = await storedTables(connection);
  const counts: number[] = [];
  for (const part of change.dropped) {
    const { rows } = await connection.query<{ plants: string }>(countSql(part));
    counts.push(Number(rows[0]?.plants));
  }
  const report = reportChange(change, counts, dropFields);
  for (const { sql, error } of fieldChecks(change.added, "postgres", tables))
    if ((await connection.query(sql)).rows.length > 0) throw error;
  for (const statement of collectionStatements(contract.collections, "postgres", tables))
    await connection.query(statement);
  const { text, json = null } = contract.source;
  await connection.query(
    `INSERT INTO plantstore_schema (only_row, version, contract, json, schemas) VALUES (true, $1, $2, $3, $4)
     ON CONFLICT (only_row)
     DO UPDATE SET version = excluded.version, contract = excluded.contract, json = excluded.json,
       schemas = excluded.schemas`,
    [newestVersion, text, json, schemasJson(parseSchemas(schemas), contract.collections)],
  );
  return report;
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
