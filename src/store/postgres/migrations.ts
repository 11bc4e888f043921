// Finds the version and the contract of a database, and brings it to the newest ones.

import { OperatorError } from "../../base/operator-error.ts";
import type { Contract } from "../../contract/contract.ts";
import type { ContractChange } from "../migration/contract-change.ts";
import {
  assertKnownVersion,
  type FoundStore,
  foundStore,
  type Migration,
  type MigrationResult,
  noStore,
  openContract,
  type StoredContract,
  upgradeWork,
} from "../migration/migration.ts";
import { newestVersion } from "../migration/schema.ts";
import type { OpenOptions } from "../plant-store.ts";
import type { ListIndex } from "../shared/list-indexes.ts";
import type { SqlStatement } from "../sql-connection.ts";
import { DatabaseError } from "./driver.ts";
import { errorReason, isLockTimeout, isUndefinedTable } from "./errors.ts";
import type { Queries } from "./host-pool.ts";
import type { Primary } from "./primary.ts";
import { runWork } from "./sql-work.ts";

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

/** The advisory lock of a change of the schema: "plant", which no one else chooses by chance. */
const schemaLock = 0x70_6c_61_6e_74n;

/** Opens the schema of the store: see openContract. Without the right to migrate it only reads. */
export function openSchema(primary: Primary, mayMigrate: boolean, options: OpenOptions): Promise<Contract> {
  return openContract(
    {
      engine: "postgres",
      name: "the database",
      mayMigrate,
      find: () => primary.withRetry(findStore),
      transaction: (work) => inTransaction(primary, (connection) => runWork(connection, work())),
      migrate: (migration) => inTransaction(primary, (connection) => upgrade(connection, migration)),
      erase: (change) => erase(primary, change),
      makeIndex: (index) => makeIndex(primary, index),
    },
    options,
  );
}

/** Runs work in a transaction, again after a pause while it does not get a lock. */
async function inTransaction<Result>(
  primary: Primary,
  run: (connection: Queries) => Promise<Result>,
): Promise<Result> {
  const options = { statementMs: statementMsMax, lockMs: lockMsMax };
  let isReported = false;
  try {
    for (;;) {
      const done = await primary.withRetry(async (pool) => {
        try {
          return { result: await pool.transaction(run, options) };
        } catch (error) {
          if (!isLockTimeout(error)) throw error;
          if (!isReported) primary.report(`a lock that ${await findLockHolders(pool)} holds`);
          isReported = true;
          return undefined;
        }
      });
      if (done !== undefined) return done.result;
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

/**
 * Makes an index while creates go on. One that is not complete was left by a migration that was killed,
 * or is being made by another: that one is left to it.
 */
async function makeIndex(primary: Primary, { name, on }: ListIndex): Promise<void> {
  try {
    const found = await primary.withRetry((pool) =>
      pool.query<{ busy: boolean }>(
        `SELECT EXISTS (SELECT 1 FROM pg_stat_progress_create_index WHERE index_relid = to_regclass('"${name}"')) AS busy`,
      ),
    );
    if (found.rows[0]?.busy) return;
    await primary.once(async (pool) => {
      await pool.alone(`DROP INDEX CONCURRENTLY IF EXISTS "${name}"`, statementMsMax);
      await pool.alone(`CREATE INDEX CONCURRENTLY IF NOT EXISTS "${name}" ON ${on}`, statementMsMax);
    });
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new OperatorError(
      `the index of a list cannot be made: ${errorReason(error)}; run "plantstore migrate" as the owner of the tables`,
    );
  }
}

/** A table of at most so many rows is rewritten at once, while creates wait for some 0.3 s. */
const rewrittenRowsMax = 100_000;

/** Rewrites the tables whose columns were dropped. */
async function erase(primary: Primary, change: ContractChange): Promise<string[]> {
  const tables = new Set(change.dropped.flatMap(({ table, field }) => (field === undefined ? [] : [table])));
  const notes: string[] = [];
  for (const table of tables) notes.push(...(await rewriteTable(primary, table)));
  return notes;
}

/**
 * Rewrites a table, as its pages still have what was erased. A large one is left to the administrator:
 * whoever uses it would wait.
 */
export async function rewriteTable(primary: Primary, table: string): Promise<string[]> {
  const { rows } = await primary.withRetry((pool) =>
    pool.query<{ rows: string }>(
      `SELECT count(*) AS rows FROM (SELECT 1 FROM "${table}" LIMIT ${rewrittenRowsMax + 1}) AS part`,
    ),
  );
  const isSmall = Number(rows[0]?.rows) <= rewrittenRowsMax;
  try {
    if (!isSmall) throw new OperatorError("it is large");
    await primary.once((pool) => pool.query(`VACUUM FULL "${table}"`));
    return [];
  } catch (error) {
    const reason = error instanceof OperatorError ? error.message : errorReason(error);
    return [
      `PostgreSQL keeps what was erased in the pages of "${table}" until they are rewritten; run VACUUM FULL "${table}" when its users can wait (${reason})`,
    ];
  }
}

/** Names the transactions that have used the plants for longer than a migration waits. */
async function findLockHolders(pool: Queries): Promise<string> {
  // Another server may be creating the tables.
  if ((await readSchemaRow(pool)) === undefined) return "another migration";
  const { rows } = await pool.query<{ holders: string | null }>(
    `SELECT string_agg(DISTINCT format('process %s (%s)', pid, application_name), ', ') AS holders
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE relation IN (SELECT to_regclass(quote_ident(name))::oid FROM collections) AND granted AND xact_start < now() - interval '${lockMsMax} ms'`,
  );
  return rows[0]?.holders ?? "another transaction";
}

/** A store before it is opened. Rejects with an OperatorError if a newer program has written it. */
async function findStore(connection: Queries): Promise<FoundStore> {
  const row = await readSchemaRow(connection);
  if (row === undefined || row.version === 0) return noStore;
  assertKnownVersion(row.version, "the database");
  return runWork(connection, foundStore("postgres", row.version, { ...row, text: row.contract }));
}

/** The store as it is, if it has another contract than the one with a number. */
export async function findOther(
  connection: Queries,
  number: number | undefined,
): Promise<FoundStore | undefined> {
  const { rows } = await connection.query<{ number: number }>("SELECT number FROM plantstore_schema");
  return rows[0]?.number === number ? undefined : findStore(connection);
}

interface SchemaRow extends Omit<StoredContract, "text"> {
  readonly version: number;
  readonly contract: string;
}

async function readSchemaRow(connection: Queries): Promise<SchemaRow | undefined> {
  try {
    // All columns, as a newer program may have others.
    return (await connection.query<SchemaRow>("SELECT * FROM plantstore_schema")).rows[0];
  } catch (error) {
    if (isUndefinedTable(error)) return undefined;
    throw error;
  }
}

async function upgrade(connection: Queries, migration: Migration): Promise<MigrationResult> {
  // A second server waits here, and then finds the newest version.
  await connection.query(`SELECT pg_advisory_xact_lock(${schemaLock})`);
  await connection.query(
    `CREATE TABLE IF NOT EXISTS plantstore_schema
       (only_row bool PRIMARY KEY, version int4 NOT NULL, number int4 NOT NULL, contract text NOT NULL,
        json text, renamed text NOT NULL, CHECK (only_row))`,
  );
  const found = await findStore(connection);
  return runWork(connection, upgradeWork("postgres", found, migration, keepStatements));
}

function keepStatements({ number, text, json, renamed }: StoredContract): SqlStatement[] {
  return [
    {
      sql: `INSERT INTO plantstore_schema (only_row, version, number, contract, json, renamed)
            VALUES (true, $1, $2, $3, $4, $5)
            ON CONFLICT (only_row)
            DO UPDATE SET version = excluded.version, number = excluded.number, contract = excluded.contract,
              json = excluded.json, renamed = excluded.renamed`,
      parameters: [newestVersion, number, text, json, renamed],
    },
  ];
}
