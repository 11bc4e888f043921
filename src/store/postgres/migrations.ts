// Finds the version and the contract of a database, and brings it to the newest ones.

import { OperatorError } from "../../base/operator-error.ts";
import type { Contract } from "../../contract/contract.ts";
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
import type { SqlStatement } from "../sql-connection.ts";
import { DatabaseError } from "./driver.ts";
import { isLockTimeout, isUndefinedTable } from "./errors.ts";
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
  const opening = {
    name: "the database",
    mayMigrate,
    find: () => primary.withRetry(findStore),
    migrate: (migration: Migration) => migrate(primary, migration),
  };
  return openContract(opening, options);
}

async function migrate(primary: Primary, migration: Migration): Promise<MigrationResult> {
  const options = { statementMs: statementMsMax, lockMs: lockMsMax };
  let isReported = false;
  const run = (connection: Queries) => upgrade(connection, migration);
  try {
    for (;;) {
      const done = await primary.withRetry(async (pool) => {
        try {
          return { report: await pool.transaction(run, options) };
        } catch (error) {
          if (!isLockTimeout(error)) throw error;
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

/** A store before it is opened. Rejects with an OperatorError if a newer program has written it. */
async function findStore(connection: Queries): Promise<FoundStore> {
  const row = await readSchemaRow(connection);
  if (row === undefined || row.version === 0) return noStore;
  assertKnownVersion(row.version, "the database");
  return runWork(connection, foundStore("postgres", row.version, { ...row, text: row.contract }));
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
       (only_row bool PRIMARY KEY, version int4 NOT NULL, contract text NOT NULL, json text,
        schemas text NOT NULL, CHECK (only_row))`,
  );
  const found = await findStore(connection);
  return runWork(connection, upgradeWork("postgres", found, migration, keepStatements));
}

function keepStatements({ text, json, schemas }: StoredContract): SqlStatement[] {
  return [
    {
      sql: `INSERT INTO plantstore_schema (only_row, version, contract, json, schemas) VALUES (true, $1, $2, $3, $4)
            ON CONFLICT (only_row)
            DO UPDATE SET version = excluded.version, contract = excluded.contract, json = excluded.json,
              schemas = excluded.schemas`,
      parameters: [newestVersion, text, json, schemas],
    },
  ];
}
