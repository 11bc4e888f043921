// The check of a host before plants are committed on it.

import type { PostgresUrl } from "./connection-url.ts";
import { type Client, DatabaseError } from "./driver.ts";
import { NoPrimary } from "./errors.ts";
import { unloggedSql, unsafeReason } from "./guarded-query.ts";
import type { HostPool } from "./host-pool.ts";

/** COPY inserts 500,000 rows a second, and INSERT 100,000. */
const copyRowsMin = 2_000;

/**
 * On a worker of Citus nothing is planned for each shard of a COPY. COPY for 4 plants or more made
 * 1.4 times the creates at 32 connections and 1.2 times at 64 that COPY for 16 or more made. On the
 * coordinator small batches are ten times slower by COPY, which opens a connection for each shard.
 */
const workerCopyRowsMin = 4;

/** Checks that a host accepts writes and keeps its commits, and finds its traits. */
export async function checkHost(
  pool: HostPool,
  { acceptsTornPages, statements }: PostgresUrl,
): Promise<void> {
  const connection = await pool.connect();
  const statement = {
    text: `SELECT current_setting('transaction_read_only') AS read_only, current_setting('server_encoding') AS encoding,
                  current_setting('synchronous_commit', true) AS commits, current_setting('fsync', true) AS fsync,
                  current_setting('full_page_writes', true) AS full_pages, ${unloggedSql} AS unlogged, version() AS version,
                  current_setting('citus.shard_count', true) AS shards,
                  to_regclass('pg_dist_local_group')::text AS node_group, pg_backend_pid()::text AS backend`,
    query_timeout: pool.statementMs,
  };
  const { rows } = await connection.query<Record<string, string | null>>(statement);
  const { read_only, encoding, commits, fsync, full_pages, unlogged, version, shards, node_group, backend } =
    rows[0] ?? {};
  if (read_only !== "off") throw new NoPrimary("accepts no writes (a standby, or read-only)", true);
  if (!/^utf-?8$/i.test(encoding ?? ""))
    throw new NoPrimary(`has the encoding ${encoding}; it must be UTF8`, true);
  const unsafe = unsafeReason([fsync, full_pages, unlogged], acceptsTornPages);
  if (unsafe !== undefined) throw new NoPrimary(unsafe, true);
  // YugabyteDB's version is that of a PostgreSQL with -YB- in it.
  const isPostgres = /^PostgreSQL (?!.*-YB-)/.test(version ?? "");
  // A pooler has its own process ids.
  const isDirect = backend === String(connection.processID);
  if (statements === "named" && !isDirect) await assertTracksNames(connection);
  const isWorker = (node_group ?? null) !== null && (await isCitusWorker(connection));
  connection.release();
  const mayCopy = isPostgres && isDirect && statements !== "unnamed";
  const copiedMin = isWorker ? workerCopyRowsMin : copyRowsMin;
  const synchronousCommit = commits === "remote_apply" ? "remote_apply" : "on";
  pool.traits = {
    synchronousCommit,
    acceptsTornPages,
    isPostgres,
    namesStatements: statements === "named" || (statements === "auto" && isPostgres && isDirect),
    // Loaded Citus is enough: the table may be distributed at any time.
    insertMethod: isPostgres && (shards ?? null) === null ? "unnest" : "values",
    // CockroachDB rejects a COPY beside other statements in one query, as if the connection was lost.
    copyRowsMin: mayCopy ? copiedMin : Number.POSITIVE_INFINITY,
  };
  if (await setsParameters(pool)) return;
  pool.traits = { ...pool.traits, synchronousCommit: undefined, copyRowsMin: Number.POSITIVE_INFINITY };
  if ((commits ?? "on") !== synchronousCommit)
    throw new NoPrimary(
      `has synchronous_commit ${commits}, which cannot be set for one transaction there, so that commits can be lost; set it to on`,
      true,
    );
}

async function isCitusWorker(connection: Client): Promise<boolean> {
  const { rows } = await connection.query<{ groupid: number }>("SELECT groupid FROM pg_dist_local_group");
  return rows[0]?.groupid !== 0;
}

/** SQLSTATEs of a server without set_config, or without one of the parameters. */
const unsupportedStates = /^(?:0A|22|42)/;

/** Whether a server can set parameters for one transaction. Rejects if the connection is lost. */
async function setsParameters(pool: HostPool): Promise<boolean> {
  const statement = { text: "SELECT current_setting('synchronous_commit')", rowMode: "array" } as const;
  try {
    const { rows } = await pool.query<[string]>(statement);
    return rows[0]?.[0] === pool.traits.synchronousCommit;
  } catch (error) {
    if (error instanceof DatabaseError && unsupportedStates.test(error.code ?? "")) return false;
    throw error;
  }
}

/**
 * Throws if a pooler passes the name of a prepared statement on: another client would find it
 * there, or not find its own. PgBouncer from 1.21 on replaces the names.
 */
async function assertTracksNames(client: Client): Promise<void> {
  const name = `plantstore_${crypto.randomUUID()}`;
  const text = `SELECT 1 FROM pg_prepared_statements WHERE name = '${name}'`;
  // In a transaction the pooler does not change the server connection.
  await client.query("BEGIN");
  const { rows } = await client.query({ name, text });
  if (rows.length > 0) await client.query(`DEALLOCATE "${name}"`);
  await client.query("COMMIT");
  if (rows.length > 0)
    throw new Error(
      "is behind a pooler that does not track prepared statements, such as PgBouncer before 1.21 or with max_prepared_statements = 0; remove statements=named from --database",
    );
}
