// Opens a session: checks that the host accepts writes and keeps its commits, and sets the
// parameters that every statement relies on.

import type { ClientBase } from "./driver.ts";
import { ConnectionLost } from "./errors.ts";

/** Properties of a connection that its check has found. */
export interface SessionTraits {
  /**
   * How rows are inserted. `unnest` is one prepared statement for all sizes, and takes PostgreSQL
   * 0.6 of the processor time of `values`. Citus pulls INSERT … SELECT through the coordinator, 30
   * times slower, so it gets `values`.
   */
  readonly insertMethod: "values" | "unnest";
  /** Batches with at least as many rows are inserted by COPY. */
  readonly copyRowsMin: number;
}

/** A session's limits. */
export interface SessionLimits {
  /** How long a statement may take, in milliseconds. */
  readonly statementMsMax: number;
  /** See SessionTraits; by default it depends on whether Citus is loaded. */
  readonly copyRowsMin?: number;
}

/**
 * An INSERT with ON CONFLICT writes each row in two steps. COPY takes PostgreSQL 0.7 of its
 * processor time for a batch of 28 plants, and half of it for 108; with 4 or 7 there is no
 * difference.
 */
const copyRowsMin = 8;

/**
 * On the coordinator a COPY opens a connection for each shard: small batches take ten times as
 * long.
 */
const coordinatorCopyRowsMin = 2_000;

/**
 * How long a statement waits for a lock, unless its transaction sets another time. The plants of a batch
 * wait with the one that is locked.
 */
export const lockMsMax = 250;

/** How long a transaction waits for its client, whose machine may be gone, with all of its locks. */
const idleMsMax = 10_000;

const checkSql = `SELECT current_setting('transaction_read_only') AS read_only,
  current_setting('server_encoding') AS encoding, current_setting('fsync') AS fsync,
  current_setting('full_page_writes') AS full_page_writes,
  (SELECT string_agg(relname, ' and ' ORDER BY relname) FROM pg_class
   WHERE oid IN (to_regclass('plants'), to_regclass('tokens'), to_regclass('token_version'),
     to_regclass('creators'), to_regclass('edits')) AND relpersistence <> 'p') AS unlogged,
  current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('statement_timeout') AS statement_timeout, current_setting('lock_timeout') AS lock_timeout,
  current_setting('idle_in_transaction_session_timeout') AS idle_in_transaction_session_timeout,
  current_setting('default_transaction_isolation') AS default_transaction_isolation,
  current_setting('standard_conforming_strings') AS standard_conforming_strings,
  quote_ident(current_user) AS role, pg_backend_pid()::text AS backend, current_setting('citus.shard_count', true) AS shards`;

type Row = Readonly<Record<string, string | null | undefined>>;

/** Throws ConnectionLost unless the host accepts writes and keeps its commits. */
export async function openSession(
  client: ClientBase,
  { statementMsMax, ...limits }: SessionLimits,
): Promise<SessionTraits> {
  const query = async (text: string): Promise<Row> => {
    const statement = { text, query_timeout: statementMsMax };
    return (await client.query<Row>(statement)).rows[0] ?? {};
  };
  const found = await query(checkSql);
  const reason = refusalReason(found);
  if (reason !== undefined) throw new ConnectionLost(reason);
  const parameters = Object.entries({
    // Commits wait for the disk and for the synchronous standby, if there is one.
    synchronous_commit: found.synchronous_commit === "remote_apply" ? "remote_apply" : "on",
    statement_timeout: statementMsMax,
    lock_timeout: lockMsMax,
    idle_in_transaction_session_timeout: idleMsMax,
    default_transaction_isolation: "read committed",
    // A backslash in a literal is a backslash.
    standard_conforming_strings: "on",
  });
  // A pooler has its own process ids. The parameters of a session behind it are those of the role.
  const isDirect = found.backend === String((client as { readonly processID?: number }).processID);
  if (isDirect) {
    await query(
      `SELECT ${parameters.map(([name, value]) => `set_config('${name}', '${value}', false)`).join()}`,
    );
  } else {
    const missing = parameters
      .filter(([name, value]) => found[name] === "0" || (typeof value === "string" && found[name] !== value))
      .map(([name, value]) => `ALTER ROLE ${found.role} SET ${name} = '${value}'`);
    if (missing.length > 0)
      throw new ConnectionLost(`is behind a pooler, so its role needs parameters; run ${missing.join("; ")}`);
  }
  // Loaded Citus is enough: the table may be distributed at any time.
  const isCitusLoaded = found.shards !== null;
  const rowsMin = limits.copyRowsMin ?? (isCitusLoaded ? coordinatorCopyRowsMin : copyRowsMin);
  return {
    insertMethod: isCitusLoaded ? "values" : "unnest",
    // A pooler would lose count of the responses.
    copyRowsMin: isDirect ? rowsMin : Number.POSITIVE_INFINITY,
  };
}

/** Why plants must not be committed on a host; undefined if they may. */
function refusalReason({ read_only, encoding, fsync, full_page_writes, unlogged }: Row): string | undefined {
  if (read_only !== "off") return "accepts no writes (a standby, or read-only)";
  if (encoding !== "UTF8")
    return `has the encoding ${encoding}; it must be UTF8: create a database with ENCODING 'UTF8'`;
  if (fsync !== "on") return "has fsync off, so that commits can be lost; set it to on";
  if (full_page_writes !== "on")
    return "has full_page_writes off, so that a power cut can tear pages; set it to on";
  if (unlogged !== null)
    return `has ${unlogged} as an unlogged table, which a crash empties; run ALTER TABLE … SET LOGGED`;
  return undefined;
}
