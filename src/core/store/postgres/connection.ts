// The connections to one host. Every transaction sets the parameters that a batch relies on: time
// limits that the server enforces, and a commit that waits for the disk and the standby. A
// statement that the client gives up is cancelled on the server.

import { isIP, type Socket } from "node:net";
import {
  Client,
  type ClientConfig,
  type Connection,
  DatabaseError,
  Pool,
  type PoolClient,
  Query,
  type QueryConfig,
  type Submittable,
} from "./driver.ts";
import { isNameLost, NoPrimary, UnreplicatedCommit } from "./errors.ts";

/** The capabilities and settings of a host, as its check found them. */
export interface HostTraits {
  /**
   * The value that transactions set: `on`, or `remote_apply` if the server is configured so.
   * Undefined if it cannot set parameters for one transaction: only the client has limits then.
   */
  readonly synchronousCommit: "on" | "remote_apply" | undefined;
  /** Whether full_page_writes may be off, see the URL parameter of that name. */
  readonly acceptsTornPages: boolean;
  /** Whether statements may be prepared by name. */
  readonly namesStatements: boolean;
  readonly insertMethod: InsertMethod;
  /** Batches with at least as many rows are inserted by COPY. */
  readonly copyRowsMin: number;
}

/**
 * The statement that inserts a batch: a list of VALUES, or a selection from arrays. On PostgreSQL
 * unnest takes 0.6 of the processor time, and it is one statement for all sizes, so that it can be
 * prepared. On Citus it is 30 times slower: INSERT … SELECT is pulled through the coordinator.
 */
type InsertMethod = "values" | "unnest";

/** Time limits of one statement or transaction. */
interface Limits {
  /** For each statement; by default that of the connection options. */
  readonly statementMs?: number | undefined;
  /** For each wait for a lock; by default only that of the statement. */
  readonly lockMs?: number | undefined;
}

interface TransactionOptions extends Limits {
  /** Follows BEGIN. */
  readonly mode?: string;
}

interface Statement extends QueryConfig {
  readonly rowMode?: "array";
  /** The time limit in milliseconds, enforced by the server and by the client. */
  readonly query_timeout?: number;
  /** See Limits. */
  readonly lockMs?: number;
  /** For a statement that cannot run in a transaction, and so without its parameters. */
  readonly isAlone?: boolean;
}

/** The client waits longer than the server by this much, so that the server ends the statement. */
const clientGraceMs = 1_000;

/** The longest delay of a timer. */
export const timerMsMax = 2 ** 31 - 1;

/** How long a close waits for connections to end before it destroys their sockets. */
const closeMsMax = 1_000;

/** The interval between cancel requests for a statement, until the server has ended it. */
const cancelPauseMs = 1_000;

/** How long to wait before the first cancel request: a failed statement ends by itself at once. */
const errorPauseMs = 20;

/** After this long without a response the statement is taken to have ended. */
const abandonedMsMax = 60_000;

/** The SQL for the names of tables that a crash would empty; null if there are none. */
export const unloggedSql = `(SELECT string_agg(relname, ' and ' ORDER BY relname) FROM pg_class
  WHERE oid IN (to_regclass('plants'), to_regclass('tokens')) AND relpersistence <> 'p')`;

/** The SQL that sets the parameters of a transaction, and reads those that a client cannot set. */
function settingsSql(statementMs: string, lockMs: string, synchronousCommit: string): string {
  // Without a BEGIN, SET LOCAL would log a warning each time.
  return `SELECT set_config('statement_timeout', ${statementMs}, true), set_config('lock_timeout', ${lockMs}, true),
                 set_config('synchronous_commit', ${synchronousCommit}, true),
                 current_setting('fsync', true), current_setting('full_page_writes', true), ${unloggedSql}`;
}

const settingsName = "plantstore_settings";
const settingsText = settingsSql("$1", "$2", "$3");

/** The values that settingsSql reads: of fsync and full_page_writes, and the unlogged tables. */
type Unsettable = readonly (string | null | undefined)[];

/** Why a server can lose commits whatever a client sets; undefined if it cannot. */
export function unsafeReason(
  [fsync, fullPageWrites, unlogged]: Unsettable,
  acceptsTornPages: boolean,
): string | undefined {
  if (unlogged !== null && unlogged !== undefined)
    return `has ${unlogged} as an unlogged table, which a crash empties; run ALTER TABLE … SET LOGGED`;
  if (fsync === "off") return "has fsync off, so that commits can be lost; set it to on";
  if (fullPageWrites === "off" && !acceptsTornPages)
    return "has full_page_writes off, so that a power cut can tear pages; set it to on, or add full_page_writes=off to --database if the storage never tears pages";
  return undefined;
}

/** Members of node-postgres's Query that its types lack. */
interface QueryInternals extends Submittable {
  callback: ((error: Error) => void) | undefined;
  prepare(connection: Connection): void;
  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void;
  handleCommandComplete(message: object, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
}

/** Members of node-postgres's Connection that its types lack. */
interface ConnectionInternals {
  /** The text of each statement that was prepared by name. */
  readonly submittedNamedStatements: Record<string, string>;
  parse(message: { text: string; name: string; types: [] }): void;
  bind(message: object): void;
  execute(message: object): void;
  /** Sends the first message of a session. */
  startup: () => void;
  cancel(processId: number | null, secretKey: number | null): void;
}

const internals = (connection: Connection) => connection as unknown as ConnectionInternals;

const ExtendedQuery = Query as unknown as new (config: object) => QueryInternals;

/** The values of the parameters of a transaction, and the check of those that were read. */
interface Guard {
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
class GuardedQuery extends ExtendedQuery {
  /** node-postgres's name for the client's time limit. */
  readonly query_timeout: number;
  /** The name that the statement is prepared by. */
  declare readonly name: string | undefined;
  readonly #guard: Guard;
  #areSettingsDone = false;
  #settingsRow: readonly (string | null)[] | undefined;

  constructor(statement: Statement, guard: Guard) {
    super({ ...statement, queryMode: "extended" });
    this.query_timeout = clientLimit(Number(guard.values[0]));
    this.#guard = guard;
  }

  override prepare(connection: Connection): void {
    const { submittedNamedStatements } = internals(connection);
    const name = this.name === undefined ? "" : settingsName;
    if (submittedNamedStatements[name] === undefined)
      internals(connection).parse({ text: settingsText, name, types: [] });
    if (name !== "") submittedNamedStatements[name] = settingsText;
    internals(connection).bind({ statement: name, values: this.#guard.values });
    internals(connection).execute({});
    super.prepare(connection);
  }

  override handleDataRow(message: { readonly fields: readonly (string | null)[] }): void {
    if (this.#areSettingsDone) super.handleDataRow(message);
    else this.#settingsRow = message.fields;
  }

  override handleCommandComplete(message: object, connection: Connection): void {
    if (this.#areSettingsDone) super.handleCommandComplete(message, connection);
    this.#areSettingsDone = true;
  }

  override handleReadyForQuery(connection: Connection): void {
    try {
      this.#guard.check(this.#settingsRow);
      assertReplicated(connection);
    } catch (error) {
      this.callback?.(error as Error);
      return;
    }
    super.handleReadyForQuery(connection);
  }
}

/** Connections whose last commit did not wait for the synchronous standby. */
const unreplicated = new WeakSet<object>();

function assertReplicated(connection: Connection): void {
  if (unreplicated.delete(connection)) throw new UnreplicatedCommit();
}

/** A connection that cancels its running statement when it is ended. */
class StoreClient extends Client {
  readonly config: ClientConfig;

  /** @param config the options of its pool. */
  constructor(config: ClientConfig & { readonly onNew: (client: StoreClient) => void }) {
    super(config);
    this.config = config;
    // The pool removes a broken connection; without a listener "error" would end the process.
    this.on("error", () => undefined);
    this.on("notice", ({ routine }) => {
      // The state is that of every warning, and the message depends on the server's language.
      if (routine === "SyncRepWaitForLSN") unreplicated.add(this.connection);
    });
    config.onNew(this);
  }

  /** Whether a statement is running on the server, as far as is known. */
  get isBusy(): boolean {
    const { readyForQuery, processID } = backend(this);
    return readyForQuery === false && processID !== null && !socketOf(this).destroyed;
  }

  override end(callback?: (error: Error) => void): Promise<void> {
    return this.#end().then(callback as (() => void) | undefined);
  }

  async #end(): Promise<void> {
    if (this.isBusy) await this.#cancelUntilEnded();
    // A host that hangs does not close the connection.
    const deadline = setTimeout(() => socketOf(this).destroy(), closeMsMax);
    await super.end();
    clearTimeout(deadline);
  }

  /**
   * Resolves when the server has ended the statement. The connection stays open until then: once
   * the client has disconnected, PgBouncer cannot cancel its statement.
   */
  async #cancelUntilEnded(): Promise<void> {
    let changed = Promise.withResolvers<void>();
    const onChange = () => {
      changed.resolve();
      changed = Promise.withResolvers();
    };
    this.connection.on("readyForQuery", onChange).on("end", onChange);
    const deadline = performance.now() + abandonedMsMax;
    await Promise.race([changed.promise, pause(errorPauseMs)]);
    // Still busy if the next statement has begun.
    while (this.isBusy && performance.now() < deadline) {
      const { promise } = changed;
      await Promise.race([promise, requestCancel(this)]);
      await Promise.race([promise, pause(cancelPauseMs)]);
    }
    // The backend is idle, and ends with its socket.
    socketOf(this).destroy();
  }
}

/** Does not keep the process alive: what it waits for does. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms).unref();
  });
}

/** Members of node-postgres's Client that its types lack. */
interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly readyForQuery?: boolean;
}

const backend = (client: Client) => client as unknown as Backend;

/** Sends a cancel request on its own connection; resolves when it was received, or cannot be. */
function requestCancel(client: StoreClient): Promise<unknown> {
  const { config } = client;
  const { host = "" } = config;
  // Keeps the address, because a name may have several. The certificate is for the name. The key is
  // not enumerable.
  const ssl = typeof config.ssl === "object" && {
    ...config.ssl,
    key: config.ssl.key,
    host,
    ...(isIP(host) === 0 ? { servername: host } : {}),
  };
  const canceller = new Client({ ...config, ssl, host: socketOf(client).remoteAddress ?? host });
  const connection = internals(canceller.connection);
  const { processID, secretKey } = backend(client);
  connection.startup = () => connection.cancel(processID, secretKey);
  // The server closes the connection as its response.
  return canceller.connect().catch(() => undefined);
}

/** A pool, or one of its connections. */
export type Queries = Pick<HostPool, "query">;

/** The connections to one host. */
export class HostPool {
  /** Its host and port. */
  readonly name: string;
  /** Until the check of the host, transactions have no parameters. */
  traits: HostTraits = {
    synchronousCommit: undefined,
    acceptsTornPages: false,
    namesStatements: false,
    insertMethod: "values",
    copyRowsMin: Number.POSITIVE_INFINITY,
  };
  /** When a COPY has last met an id that was stored. */
  copyFailedAt = Number.NEGATIVE_INFINITY;
  readonly #pool: Pool;
  /** The time limit of a statement. */
  readonly statementMs: number;
  /** Its connections until they have ended, also those that are still connecting. */
  readonly #clients = new Set<StoreClient>();
  #retired: PromiseWithResolvers<void> | undefined;

  /** @param config where `query_timeout` is the time limit of a statement. */
  constructor(config: ClientConfig, connectionsMax: number) {
    this.name = `${config.host}:${config.port}`;
    this.statementMs = Number(config.query_timeout ?? 0);
    const options = {
      ...config,
      query_timeout: clientLimit(this.statementMs),
      max: connectionsMax,
      idleTimeoutMillis: 0,
      Client: StoreClient as never,
      onNew: (client: StoreClient) => this.#add(client),
    };
    this.#pool = new Pool(options);
    this.#pool.on("error", () => undefined);
  }

  /** Connections whose backend is not known to have ended. */
  get size(): number {
    return this.#clients.size;
  }

  /** Runs a statement, by default in a transaction with the parameters of a batch. */
  async query<Row extends object>(
    statement: string | Statement,
    values?: readonly unknown[],
  ): Promise<{ readonly rows: Row[] }> {
    const config: Statement = {
      ...(typeof statement === "string" ? { text: statement } : statement),
      ...(values === undefined ? {} : { values: [...values] }),
    };
    const limits = { statementMs: config.query_timeout, lockMs: config.lockMs };
    const guard = config.isAlone === true ? undefined : this.#guard(limits);
    // The types take it for a query whose rows are events.
    const query = guard === undefined ? config : (new GuardedQuery(config, guard) as object as QueryConfig);
    try {
      return await this.#pool.query<Row>(query);
    } catch (error) {
      // A pooler does not pass the names on: the retry and everything after it is unnamed.
      if (isNameLost(error)) this.traits = { ...this.traits, namesStatements: false };
      throw error;
    }
  }

  /** Runs work in a transaction with the parameters of a batch, and commits it. */
  async transaction<Result>(
    work: (connection: PoolClient) => Promise<Result>,
    options?: TransactionOptions,
  ): Promise<Result> {
    const connection = await this.begin(options);
    try {
      const result = await work(connection);
      await connection.query("COMMIT");
      assertReplicated(connection.connection);
      connection.release();
      return result;
    } catch (error) {
      // After an error of the client the state of the connection is unknown.
      const isRolledBack =
        error instanceof DatabaseError &&
        (await connection.query("ROLLBACK").then(
          () => true,
          () => false,
        ));
      connection.release(!isRolledBack);
      throw error;
    }
  }

  /** Begins such a transaction on a connection that the caller releases. */
  async begin({ mode = "", ...limits }: TransactionOptions = {}): Promise<PoolClient> {
    const connection = await this.#pool.connect();
    const guard = this.#guard(limits);
    try {
      if (guard === undefined) await connection.query(`BEGIN ${mode}`);
      else await this.#begin(connection, mode, guard);
      return connection;
    } catch (error) {
      connection.release(true);
      throw error;
    }
  }

  /** A connection that the caller releases. */
  connect(): Promise<PoolClient> {
    return this.#pool.connect();
  }

  async #begin(connection: PoolClient, mode: string, { values, check }: Guard): Promise<void> {
    const [statementMs, lockMs, synchronousCommit] = values;
    const sql = settingsSql(`'${statementMs}'`, `'${lockMs}'`, `'${synchronousCommit}'`);
    // A simple query of two statements has two results; the types have one.
    const results = (await connection.query({
      text: `BEGIN ${mode}; ${sql}`,
      rowMode: "array",
    })) as unknown as {
      rows: (string | null)[][];
    }[];
    check(results[1]?.rows[0]);
  }

  #guard({ statementMs = this.statementMs, lockMs = 0 }: Limits): Guard | undefined {
    const { synchronousCommit, acceptsTornPages } = this.traits;
    if (synchronousCommit === undefined) return undefined;
    return {
      values: [String(statementMs), String(lockMs), synchronousCommit],
      check: (row = []) => {
        const reason = unsafeReason(row.slice(3), acceptsTornPages);
        if (reason !== undefined) throw new NoPrimary(`${this.name}: ${reason}`, true);
      },
    };
  }

  #add(client: StoreClient): void {
    this.#clients.add(client);
    client.once("end", () => {
      this.#clients.delete(client);
      if (this.#clients.size === 0) this.#retired?.resolve();
    });
  }

  /** Accepts no more statements; running ones continue. Resolves when no connection is left. */
  retire(): Promise<void> {
    if (this.#retired !== undefined) return this.#retired.promise;
    this.#retired = Promise.withResolvers<void>();
    for (const client of this.#clients) if (!client.isBusy) socketOf(client).destroy();
    void this.#pool.end();
    if (this.#clients.size === 0) this.#retired.resolve();
    return this.#retired.promise;
  }

  /** Retires the pool, and ends running statements after a second. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => void this.destroy(), closeMsMax);
    await this.retire();
    clearTimeout(deadline);
  }

  /** Retires the pool, and ends running statements at once. */
  destroy(): Promise<void> {
    for (const client of this.#clients) socketOf(client).destroy();
    return this.retire();
  }
}

/** The client's limit of a statement. */
function clientLimit(statementMs: number): number {
  return Math.min(statementMs + clientGraceMs, timerMsMax);
}

/** The socket of a client. */
export function socketOf({ connection }: Client): Socket {
  return connection.stream as Socket;
}

/** The process id of a client's backend, as the server or a pooler gave it. */
export function backendOf(client: Client): number | null {
  return backend(client).processID;
}
