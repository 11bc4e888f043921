// The connections to one host. Every transaction sets the parameters that a batch relies on: time
// limits that the server enforces, and a commit that waits for the disk and the standby. A
// statement that the client gives up is cancelled on the server.

import { isIP, type Socket } from "node:net";
import {
  Client,
  type ClientConfig,
  Connection,
  DatabaseError,
  Pool,
  type PoolClient,
  Query,
  type QueryConfig,
  type Submittable,
} from "./driver.ts";
import { isNameLost, NoPrimary, UnreplicatedCommit } from "./errors.ts";

/** The parameters that transactions on a host set and check. */
export interface TransactionSettings {
  /** `on`, or `remote_apply` if the server is configured so. */
  readonly synchronousCommit: "on" | "remote_apply";
  /** Whether full_page_writes may be off, see the URL parameter of that name. */
  readonly acceptsTornPages: boolean;
}

/** The connection options of the primary; `query_timeout` is the time limit of a statement. */
export interface HostConfig extends ClientConfig {
  /**
   * Undefined if the server cannot set them for one transaction: only the client has limits then.
   */
  readonly settings?: TransactionSettings | undefined;
  /** Whether statements may be prepared by name; by default they are unnamed. */
  readonly namesStatements?: boolean | undefined;
  /** How batches are inserted; by default as `values`. */
  readonly insertMethod?: InsertMethod | undefined;
}

/**
 * The statement that inserts a batch: a list of VALUES, or a selection from arrays. On PostgreSQL
 * unnest takes 0.6 of the processor time, and it is one statement for all sizes, so that it can be
 * prepared. On Citus it is 30 times slower: INSERT … SELECT is pulled through the coordinator.
 */
export type InsertMethod = "values" | "unnest";

/** Connection options with a time limit of the server (`statementMs`) as well. */
interface ConnectionConfig extends HostConfig {
  readonly statementMs: number;
}

/** Time limits of one statement or transaction. */
interface Limits {
  /** For each statement; by default that of the connection options. */
  readonly statementMs?: number | undefined;
  /** For each wait for a lock; by default only that of the statement. */
  readonly lockMs?: number | undefined;
}

/** A statement for HostPool.query. */
interface Statement extends QueryConfig {
  readonly rowMode?: "array";
  /** The time limit in milliseconds, enforced by the server and by the client. */
  readonly query_timeout?: number;
  /** See Limits. */
  readonly lockMs?: number;
}

/** The client waits longer than the server by this much, so that the server ends the statement. */
const clientGraceMs = 1_000;

/** SQLSTATEs of a server without set_config, or without one of the parameters. */
const unsupportedStates = /^(?:0A|22|42)/;

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

/** The values of the parameters. */
function settingsValues(settings: TransactionSettings, { statementMs = 0, lockMs = 0 }: Limits): string[] {
  return [String(statementMs), String(lockMs), settings.synchronousCommit];
}

/** The SQL, prepared by name. */
const namedSettings = { name: "plantstore_settings", text: settingsSql("$1", "$2", "$3") };

function unnamedSettings(settings: TransactionSettings, limits: Limits): string {
  const [statementMs = "", lockMs = "", synchronousCommit = ""] = settingsValues(settings, limits);
  return settingsSql(`'${statementMs}'`, `'${lockMs}'`, `'${synchronousCommit}'`);
}

/** Why a server can lose commits whatever a client sets; undefined if it cannot. */
export function unsafeReason(
  fsync: string | null | undefined,
  fullPageWrites: string | null | undefined,
  unlogged: string | null | undefined,
  acceptsTornPages: boolean,
): string | undefined {
  if (unlogged !== null && unlogged !== undefined)
    return `has ${unlogged} as an unlogged table, which a crash empties; run ALTER TABLE … SET LOGGED`;
  if (fsync === "off") return "has fsync off, so that commits can be lost; set it to on";
  if (fullPageWrites === "off" && !acceptsTornPages)
    return "has full_page_writes off, so that a power cut can tear pages; set it to on, or add full_page_writes=off to --database if the storage never tears pages";
  return undefined;
}

/** Throws NoPrimary if the values that settingsSql has read are not safe. */
function assertSafe(
  config: HostConfig,
  settings: TransactionSettings,
  row: readonly (string | null)[] | undefined,
): void {
  const reason = unsafeReason(row?.[3], row?.[4], row?.[5], settings.acceptsTornPages);
  if (reason !== undefined) throw new NoPrimary(`${config.host}:${config.port}: ${reason}`, true);
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
  readonly stream: Socket;
  /** The text of each statement that was prepared by name. */
  readonly submittedNamedStatements: Record<string, string>;
  parse(message: { text: string; name: string; types: [] }): void;
  bind(message: object): void;
  execute(message: object): void;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

const ExtendedQuery = Query as unknown as new (config: object) => QueryInternals;

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
  readonly #config: ConnectionConfig;
  readonly #settings: TransactionSettings;
  readonly #limits: Limits;
  #areSettingsDone = false;
  #settingsRow: readonly (string | null)[] | undefined;

  constructor(statement: Statement, config: ConnectionConfig, settings: TransactionSettings) {
    super({ ...statement, queryMode: "extended" });
    const statementMs = statement.query_timeout ?? config.statementMs;
    this.query_timeout = Math.min(statementMs + clientGraceMs, timerMsMax);
    this.#config = config;
    this.#settings = settings;
    this.#limits = { statementMs, lockMs: statement.lockMs };
  }

  override prepare(connection: Connection): void {
    const internals = connection as unknown as ConnectionInternals;
    if (this.name === undefined) {
      internals.parse({ text: unnamedSettings(this.#settings, this.#limits), name: "", types: [] });
      internals.bind({});
    } else {
      const { name, text } = namedSettings;
      if (internals.submittedNamedStatements[name] === undefined) {
        internals.parse({ text, name, types: [] });
        internals.submittedNamedStatements[name] = text;
      }
      internals.bind({ statement: name, values: settingsValues(this.#settings, this.#limits) });
    }
    internals.execute({});
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
      assertSafe(this.#config, this.#settings, this.#settingsRow);
    } catch (error) {
      this.callback?.(error as Error);
      return;
    }
    if (unreplicated.delete(connection)) {
      this.callback?.(new UnreplicatedCommit());
      return;
    }
    super.handleReadyForQuery(connection);
  }
}

/** Connections whose last commit did not wait for the synchronous standby. */
const unreplicated = new WeakSet<object>();

/** Commits the transaction. Rejects with UnreplicatedCommit if it did not wait for the standby. */
export async function commit(client: PoolClient): Promise<void> {
  await client.query("COMMIT");
  if (unreplicated.delete((client as unknown as StoreClient).connection)) throw new UnreplicatedCommit();
}

/** A statement for HostPool.query that waits at most `lockMs` for a lock. */
export function withLockLimit<Config extends QueryConfig>(
  statement: Config,
  lockMs: number,
): Config & { readonly lockMs: number } {
  return { ...statement, lockMs };
}

/** Begins a transaction on a connection of a HostPool, with the same parameters. */
export async function begin(connection: PoolClient, mode = "", limits: Limits = {}): Promise<void> {
  const { config } = connection as unknown as StoreClient;
  if (config.settings === undefined) {
    await connection.query(`BEGIN ${mode}`);
    return;
  }
  const sql = unnamedSettings(config.settings, { statementMs: config.statementMs, ...limits });
  // A simple query of two statements has two results; the types have one.
  const results = (await connection.query({
    text: `BEGIN ${mode}; ${sql}`,
    rowMode: "array",
  })) as unknown as {
    rows: (string | null)[][];
  }[];
  assertSafe(config, config.settings, results[1]?.rows[0]);
}

/** From here on, limits how long statements of the transaction wait for a lock. */
export async function limitLockWaits(connection: PoolClient, lockMs: number): Promise<void> {
  if ((connection as unknown as StoreClient).config.settings === undefined) return;
  await connection.query(`SELECT set_config('lock_timeout', '${lockMs}', true)`);
}

/** Whether a server can set parameters for one transaction. Rejects if the connection is lost. */
export function supportsSettings(
  client: Client,
  config: HostConfig,
  settings: TransactionSettings,
): Promise<boolean> {
  const text = "SELECT current_setting('synchronous_commit')";
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const query = new GuardedQuery({ text, rowMode: "array" }, connectionConfig(config), settings);
  const callback = (error: Error | null, result?: { rows: string[][] }) => {
    if (error instanceof DatabaseError && unsupportedStates.test(error.code ?? "")) resolve(false);
    else if (error !== null) reject(error);
    else resolve(result?.rows[0]?.[0] === settings.synchronousCommit);
  };
  client.query(Object.assign(query, { callback }));
  return promise;
}

function connectionConfig(config: HostConfig): ConnectionConfig {
  const statementMs = Number(config.query_timeout ?? 0);
  return { ...config, statementMs, query_timeout: Math.min(statementMs + clientGraceMs, timerMsMax) };
}

/** A connection that cancels its running statement when it is ended. */
class StoreClient extends Client {
  readonly config: ConnectionConfig;

  /** @param config the options of its pool. */
  constructor(config: ConnectionConfig) {
    super(config);
    this.config = config;
    this.on("notice", ({ routine }) => {
      // The state is that of every warning, and the message depends on the server's language.
      if (routine === "SyncRepWaitForLSN") unreplicated.add(this.connection);
    });
  }

  /** Whether a statement is running on the server, as far as is known. */
  get isBusy(): boolean {
    const { readyForQuery, processID } = this as unknown as Backend;
    return readyForQuery === false && processID !== null && !socketOf(this).destroyed;
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = () => {
      // A host that hangs does not close the connection.
      const deadline = setTimeout(() => socketOf(this).destroy(), closeMsMax);
      super.end((error) => {
        clearTimeout(deadline);
        resolve();
        callback?.(error);
      });
    };
    if (this.isBusy) void this.#cancelUntilEnded().then(finish);
    else finish();
    return callback === undefined ? promise : undefined;
  }

  /**
   * Resolves when the server has ended the statement. The connection stays open until then: once
   * the client has disconnected, PgBouncer cannot cancel its statement.
   */
  async #cancelUntilEnded(): Promise<void> {
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    let hasEnded = false;
    const end = () => {
      hasEnded = true;
      resolve();
    };
    const connection = this.connection.once("readyForQuery", end).once("end", end);
    const deadline = performance.now() + abandonedMsMax;
    await waitAtMost(ended, errorPauseMs);
    while (!hasEnded && performance.now() < deadline) {
      await Promise.race([ended, requestCancel(this)]);
      await waitAtMost(ended, cancelPauseMs);
    }
    connection.off("readyForQuery", end).off("end", end);
    // The backend is idle, and ends with its socket.
    socketOf(this).destroy();
  }
}

/**
 * Resolves when a promise does, or after a time; clears its timer, which keeps the process alive.
 */
async function waitAtMost(promise: Promise<void>, ms: number): Promise<void> {
  const { promise: timeout, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, timeout]);
  clearTimeout(timer);
}

interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly readyForQuery?: boolean;
}

/** Sends a cancel request on its own connection; resolves when it was received, or cannot be. */
function requestCancel(client: StoreClient): Promise<void> {
  const { ssl, host = "", port = 0, stream, connectionTimeoutMillis } = client.config;
  const { processID, secretKey } = client as unknown as Backend;
  if (processID === null || secretKey === null) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const isTls = typeof ssl === "object";
  // Keeps the address, because a name may have several. The certificate is for the name.
  const address = host.startsWith("/") ? host : (socketOf(client).remoteAddress ?? host);
  const tls = isTls ? { ...ssl, host, ...(isIP(host) === 0 ? { servername: host } : {}) } : false;
  const connection = new Connection({ ssl: tls, ...(stream === undefined ? {} : { stream }) } as object);
  const internals = connection as unknown as ConnectionInternals;
  const send = () => internals.cancel(processID, secretKey);
  const timer = setTimeout(() => internals.stream.destroy(), connectionTimeoutMillis);
  connection.on("error", () => internals.stream.destroy());
  connection.once("connect", () => (isTls ? internals.requestSsl() : send()));
  connection.once("sslconnect", send);
  // The server closes the connection as its response.
  connection.once("end", () => {
    clearTimeout(timer);
    resolve();
  });
  if (address.startsWith("/")) internals.connect(`${address}/.s.PGSQL.${port}`);
  else internals.connect(port, address);
  return promise;
}

/** Members of pg-pool's Pool that its types lack. */
interface PoolInternals {
  /** Its connections until they are ended. */
  readonly _clients: readonly StoreClient[];
}

/** The connections to one host. */
export class HostPool extends Pool {
  readonly insertMethod: InsertMethod;
  #namesStatements: boolean;
  readonly #clients = new Set<StoreClient>();
  #retired: PromiseWithResolvers<void> | undefined;

  constructor(config: HostConfig, connectionsMax: number) {
    const ownConfig = connectionConfig(config);
    super({ ...ownConfig, Client: StoreClient as never, max: connectionsMax, idleTimeoutMillis: 0 });
    this.insertMethod = config.insertMethod ?? "values";
    this.#namesStatements = config.namesStatements ?? false;
    // The pool removes a broken connection; without a listener "error" would end the process.
    this.on("error", () => undefined);
    this.on("connect", (client) => {
      client.on("error", () => undefined);
      this.#clients.add(client as unknown as StoreClient);
    });
    this.on("remove", (client) => {
      this.#clients.delete(client as unknown as StoreClient);
      if (this.#clients.size === 0) this.#retired?.resolve();
    });
    const { settings } = config;
    const send = this.query.bind(this) as (query: object) => Promise<unknown>;
    this.query = (async (statement: string | Statement, values?: readonly unknown[]) => {
      const config = {
        ...(typeof statement === "string" ? { text: statement } : statement),
        ...(values === undefined ? {} : { values: [...values] }),
      };
      try {
        return await send(settings === undefined ? config : new GuardedQuery(config, ownConfig, settings));
      } catch (error) {
        // A pooler does not pass the names on: the retry and everything after it is unnamed.
        if (isNameLost(error)) this.#namesStatements = false;
        throw error;
      }
    }) as Pool["query"];
  }

  /** Whether statements may be prepared by name. */
  get namesStatements(): boolean {
    return this.#namesStatements;
  }

  /** Connections whose backend is not known to have ended. */
  get size(): number {
    return this.#clients.size;
  }

  /** Accepts no more statements; running ones continue. Resolves when no connection is left. */
  retire(): Promise<void> {
    if (this.#retired !== undefined) return this.#retired.promise;
    this.#retired = Promise.withResolvers<void>();
    // Also those that are still connecting.
    for (const client of (this as unknown as PoolInternals)._clients)
      if (!client.isBusy) socketOf(client).destroy();
    void this.end();
    if (this.#clients.size === 0) this.#retired.resolve();
    return this.#retired.promise;
  }

  /** Retires the pool, and destroys the sockets that are left after a second. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => {
      for (const client of this.#clients) socketOf(client).destroy();
    }, closeMsMax);
    await this.retire();
    clearTimeout(deadline);
  }
}

/** The socket of a client, which the types lack. */
export function socketOf(client: object): Socket {
  return (client as { connection: { stream: Socket } }).connection.stream;
}

/** The process id of a client's backend, as the server or a pooler gave it. */
export function backendOf(client: object): number | null {
  return (client as Backend).processID;
}
