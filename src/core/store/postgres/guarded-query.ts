// The parameters of a transaction that a batch relies on: time limits that the server enforces, and
// a commit that waits for the disk and the standby.

import { assertReplicated } from "./client.ts";
import { type Connection, Query, type QueryConfig, type Submittable } from "./driver.ts";

export interface Statement extends QueryConfig {
  readonly rowMode?: "array";
  /** The time limit in milliseconds, enforced by the server and by the client. */
  readonly query_timeout?: number;
  /** For each wait for a lock; by default only that of the statement. */
  readonly lockMs?: number;
  /** For a statement that cannot run in a transaction, and so without its parameters. */
  readonly isAlone?: boolean;
}

/** The client waits longer than the server by this much, so that the server ends the statement. */
const clientGraceMs = 1_000;

/** The longest delay of a timer. */
export const timerMsMax = 2 ** 31 - 1;

/** The client's limit of a statement. */
export function clientLimit(statementMs: number): number {
  return Math.min(statementMs + clientGraceMs, timerMsMax);
}

/** The SQL for the names of tables that a crash would empty; null if there are none. */
export const unloggedSql = `(SELECT string_agg(relname, ' and ' ORDER BY relname) FROM pg_class
  WHERE oid IN (to_regclass('plants'), to_regclass('tokens')) AND relpersistence <> 'p')`;

/**
 * The SQL that reads the parameters of a transaction which a client cannot set, and sets the others.
 * A wait for the standby that was cut short is reported as a warning.
 */
export function settingsSql(statementMs: string, lockMs: string, synchronousCommit: string): string {
  // Without a BEGIN, SET LOCAL would log a warning each time.
  return `SELECT current_setting('fsync', true), current_setting('full_page_writes', true), ${unloggedSql},
                 set_config('statement_timeout', ${statementMs}, true), set_config('lock_timeout', ${lockMs}, true),
                 set_config('synchronous_commit', ${synchronousCommit}, true),
                 set_config('client_min_messages', 'warning', true)`;
}

const settingsName = "plantstore_settings";
const settingsText = settingsSql("$1", "$2", "$3");

/**
 * The SQL that fails if a trigger may skip rows of a COPY (1, 2 and 4 are ROW, BEFORE and INSERT): a
 * COPY does not say which, and Citus counts all rows that it has sent to the shards.
 */
const triggersSql = `(CASE WHEN EXISTS (SELECT 1 FROM pg_trigger WHERE tgrelid = to_regclass('plants') AND tgtype & 7 = 7)
  THEN 'a trigger may skip rows of a COPY' ELSE '0' END)::int4`;

const copySettingsName = "plantstore_copy_settings";
const copySettingsText = `${settingsText}, ${triggersSql}`;

/**
 * Why a server can lose commits whatever a client sets, by what settingsSql reads; undefined if it
 * cannot.
 */
export function unsafeReason(
  [fsync, fullPageWrites, unlogged]: readonly (string | null | undefined)[],
  acceptsTornPages: boolean,
): string | undefined {
  if (unlogged !== null && unlogged !== undefined)
    return `has ${unlogged} as an unlogged table, which a crash empties; run ALTER TABLE … SET LOGGED`;
  if (fsync === "off") return "has fsync off, so that commits can be lost; set it to on";
  if (fullPageWrites === "off" && !acceptsTornPages)
    return "has full_page_writes off, so that a power cut can tear pages; set it to on, or add full_page_writes=off to --database if the storage never tears pages";
  return undefined;
}

interface CommandComplete {
  /** The command's tag, such as "COPY 60". */
  readonly text: string;
}

/** Members of node-postgres's Query that its types lack. */
interface QueryInternals extends Submittable {
  readonly text: string;
  callback: ((error: Error | null, result?: { readonly rowCount: number | null }) => void) | undefined;
  prepare(connection: Connection): void;
  submit(connection: Connection): Error | null;
  handleCopyInResponse(): void;
  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void;
  handleCommandComplete(message: CommandComplete, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
}

/** Members of node-postgres's Connection that its types lack. */
interface ConnectionInternals {
  /** The text of each statement that was prepared by name. */
  readonly submittedNamedStatements: Record<string, string>;
  parse(message: { text: string; name: string; types: [] }): void;
  bind(message: object): void;
  execute(message: object): void;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
}

const internals = (connection: Connection) => connection as unknown as ConnectionInternals;

const ExtendedQuery = Query as unknown as new (config: object) => QueryInternals;

/** The values of the parameters of a transaction, and the check of those that were read. */
export interface Guard {
  /** As settingsSql takes them. */
  readonly values: readonly [statementMs: string, lockMs: string, synchronousCommit: string];
  /** Throws NoPrimary unless the row of settingsSql is that of a server that keeps commits. */
  readonly check: (row: readonly (string | null)[] | undefined) => void;
}

/**
 * A statement after the one that sets the parameters of its transaction. Both are sent with a
 * single Sync: one round trip, one implicit transaction, and no state left in the connection, so
 * PgBouncer can share it in transaction mode.
 */
export class GuardedQuery extends ExtendedQuery {
  /** node-postgres's name for the client's time limit. */
  readonly query_timeout: number;
  /** The name that the statement is prepared by. */
  declare readonly name: string | undefined;
  protected readonly guard: Guard;
  #areSettingsDone = false;
  #settingsRow: readonly (string | null)[] | undefined;

  constructor(statement: Statement, guard: Guard) {
    super({ ...statement, queryMode: "extended" });
    this.query_timeout = clientLimit(Number(guard.values[0]));
    this.guard = guard;
  }

  override prepare(connection: Connection): void {
    const { submittedNamedStatements } = internals(connection);
    const name = this.name === undefined ? "" : settingsName;
    if (submittedNamedStatements[name] === undefined)
      internals(connection).parse({ text: settingsText, name, types: [] });
    if (name !== "") submittedNamedStatements[name] = settingsText;
    internals(connection).bind({ statement: name, values: this.guard.values });
    internals(connection).execute({});
    super.prepare(connection);
  }

  override handleDataRow(message: { readonly fields: readonly (string | null)[] }): void {
    if (this.#areSettingsDone) super.handleDataRow(message);
    else this.#settingsRow = message.fields;
  }

  override handleCommandComplete(message: CommandComplete, connection: Connection): void {
    if (this.#areSettingsDone) super.handleCommandComplete(message, connection);
    this.#areSettingsDone = true;
  }

  override handleReadyForQuery(connection: Connection): void {
    try {
      this.guard.check(this.#settingsRow);
      assertReplicated(connection);
    } catch (error) {
      this.callback?.(error as Error);
      return;
    }
    super.handleReadyForQuery(connection);
  }
}

/**
 * COPY … FROM STDIN after the statement that sets the parameters of its transaction, both in one
 * simple query, which is an implicit transaction. Without one, Citus would open a connection for
 * each of its own shards. The rows follow without a wait for CopyInResponse.
 */
export class GuardedCopy extends GuardedQuery {
  readonly #rows: Buffer;

  constructor(text: string, rows: Buffer, guard: Guard) {
    super({ text }, guard);
    this.#rows = rows;
  }

  override submit(connection: Connection): null {
    connection.stream.cork();
    internals(connection).query(`${this.#settings(connection)}; ${this.text}`);
    // If the query fails before it wants them, the server ignores them.
    internals(connection).sendCopyFromChunk(this.#rows);
    internals(connection).endCopyFrom();
    connection.stream.uncork();
    return null;
  }

  /** The rows are on their way. */
  override handleCopyInResponse(): void {}

  override handleCommandComplete(message: CommandComplete, connection: Connection): void {
    if (message.text === "PREPARE")
      internals(connection).submittedNamedStatements[copySettingsName] = copySettingsText;
    else super.handleCommandComplete(message, connection);
  }

  /** Prepared: planned each time it took a tenth of the time of 60 rows on Citus. */
  #settings(connection: Connection): string {
    const values = this.guard.values.map((value) => `'${value}'`).join(", ");
    const isPrepared = internals(connection).submittedNamedStatements[copySettingsName] !== undefined;
    const prepare = isPrepared ? "" : `PREPARE ${copySettingsName} AS ${copySettingsText}; `;
    return `${prepare}EXECUTE ${copySettingsName} (${values})`;
  }
}
