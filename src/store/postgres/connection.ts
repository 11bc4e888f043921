// The connections to one host. Every transaction sets for itself what a batch relies on (time limits that the server
// enforces, a commit that waits for the disk and the standby), and a statement that is given up is cancelled there.

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
import { NoPrimary } from "./error-classes.ts";

/** What the transactions on a host set, and what they check. */
export interface TransactionSettings {
  /** `on`, or what is stronger where the server has it. */
  readonly synchronousCommit: "on" | "remote_apply";
  /** Whether full_page_writes may be off: see the address parameter of that name. */
  readonly acceptsTornPages: boolean;
}

/** How to connect to a host that takes writes; its `query_timeout` is the time limit of a statement. */
export interface HostConfig extends ClientConfig {
  /** Undefined where the server does not know set_config for one transaction; the client's time limit is then the only one. */
  readonly settings?: TransactionSettings | undefined;
}

/** The same, with the time limit that the server keeps apart from the client's. */
interface ConnectionConfig extends HostConfig {
  readonly statementMs: number;
}

/** Time limits of one statement or transaction. */
interface Limits {
  /** For each statement; by default that of the host's configuration. */
  readonly statementMs?: number | undefined;
  /** For each wait for a lock; by default none but the statement's. */
  readonly lockMs?: number | undefined;
}

/** A statement of a pool. */
interface Statement extends QueryConfig {
  readonly rowMode?: "array";
  /** Its time limit in milliseconds, which the server enforces and the client as well. */
  readonly query_timeout?: number;
  /** See Limits. */
  readonly lockMs?: number;
}

/** The client waits longer than the server by so much, so that it is the server that ends a statement. */
const graceMs = 1_000;

/** What a server says that does not know set_config, one of the settings, or that they end with a transaction. */
const unknownStates = /^(?:0A|22|42)/;

/** The longest that a timer can be set to. */
export const timerMsMax = 2 ** 31 - 1;

/** How long a close waits for the connections to end in peace. */
const closeMsMax = 1_000;

/** A statement that was given up is cancelled every so often until the server has ended it. */
const cancelPauseMs = 1_000;

/** A statement that has failed ends by itself, as soon as the rest of the server's answer is read. */
const errorPauseMs = 20;

/** After so long without a word the server is taken to have ended it. */
const abandonedMsMax = 60_000;

/** Sets what the transactions rely on, until their end, and reads what no client can set. */
function settingsSql({ synchronousCommit }: TransactionSettings, { statementMs = 0, lockMs = 0 }: Limits) {
  // SET LOCAL would be the plain form; ahead of a statement, with no BEGIN, it logs a warning each time.
  return `SELECT set_config('statement_timeout', '${statementMs}', true), set_config('lock_timeout', '${lockMs}', true),
                 set_config('synchronous_commit', '${synchronousCommit}', true),
                 current_setting('fsync', true), current_setting('full_page_writes', true)`;
}

/** Why a server can lose what it commits, whatever a client sets; undefined if it does not. */
export function unsafeReason(
  fsync: string | null | undefined,
  fullPageWrites: string | null | undefined,
  acceptsTornPages: boolean,
): string | undefined {
  if (fsync === "off") return "has fsync off, so that commits can be lost; set it to on";
  if (fullPageWrites === "off" && !acceptsTornPages)
    return "has full_page_writes off, so that a power cut can tear pages; set it to on, or say full_page_writes=off in the address if the storage writes pages whole";
  return undefined;
}

/** Throws if what the settings' statement has read is not safe. */
function assertSafe(
  config: HostConfig,
  settings: TransactionSettings,
  row: readonly (string | null)[] | undefined,
): void {
  const reason = unsafeReason(row?.[3], row?.[4], settings.acceptsTornPages);
  if (reason !== undefined) throw new NoPrimary(`${config.host}:${config.port}: ${reason}`);
}

/** What node-postgres's Query has beside its types. */
interface QueryInternals extends Submittable {
  callback: ((error: Error) => void) | undefined;
  prepare(connection: Connection): void;
  handleDataRow(message: { readonly fields: readonly (string | null)[] }): void;
  handleCommandComplete(message: object, connection: Connection): void;
  handleReadyForQuery(connection: Connection): void;
}

/** What node-postgres's Connection has beside its types. */
interface ConnectionInternals {
  readonly stream: Socket;
  parse(message: { text: string; name: string; types: [] }): void;
  bind(message: object): void;
  execute(message: object): void;
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processId: number, secretKey: number): void;
}

const ExtendedQuery = Query as unknown as new (config: object) => QueryInternals;

/**
 * A statement behind the one that sets what its transaction relies on. Both leave with a single Sync: one round trip, one
 * implicit transaction, and nothing that stays with the connection, so that PgBouncer may share it in transaction mode.
 */
class GuardedQuery extends ExtendedQuery {
  /** node-postgres's own name for the time limit that the client keeps. */
  readonly query_timeout: number;
  readonly #config: ConnectionConfig;
  readonly #settings: TransactionSettings;
  readonly #limits: Limits;
  #isGuarded = false;
  #guard: readonly (string | null)[] | undefined;

  constructor(statement: Statement, config: ConnectionConfig, settings: TransactionSettings) {
    super({ ...statement, queryMode: "extended" });
    const statementMs = statement.query_timeout ?? config.statementMs;
    this.query_timeout = Math.min(statementMs + graceMs, timerMsMax);
    this.#config = config;
    this.#settings = settings;
    this.#limits = { statementMs, lockMs: statement.lockMs };
  }

  override prepare(connection: Connection): void {
    const own = connection as unknown as ConnectionInternals;
    own.parse({ text: settingsSql(this.#settings, this.#limits), name: "", types: [] });
    own.bind({});
    own.execute({});
    super.prepare(connection);
  }

  override handleDataRow(message: { readonly fields: readonly (string | null)[] }): void {
    if (this.#isGuarded) super.handleDataRow(message);
    else this.#guard = message.fields;
  }

  override handleCommandComplete(message: object, connection: Connection): void {
    if (this.#isGuarded) super.handleCommandComplete(message, connection);
    this.#isGuarded = true;
  }

  override handleReadyForQuery(connection: Connection): void {
    try {
      assertSafe(this.#config, this.#settings, this.#guard);
    } catch (error) {
      this.callback?.(error as Error);
      return;
    }
    super.handleReadyForQuery(connection);
  }
}

/** A statement that waits for so long at the most for another transaction's lock, on its own on a HostPool. */
export function withLockLimit<Config extends QueryConfig>(
  statement: Config,
  lockMs: number,
): Config & { readonly lockMs: number } {
  return { ...statement, lockMs };
}

/** Begins a transaction on a connection of a HostPool, with the same settings. */
export async function begin(connection: PoolClient, mode = "", limits: Limits = {}): Promise<void> {
  const { config } = connection as unknown as StoreClient;
  if (config.settings === undefined) {
    await connection.query(`BEGIN ${mode}`);
    return;
  }
  const sql = settingsSql(config.settings, { statementMs: config.statementMs, ...limits });
  // One simple query of two statements, whose types know of one.
  const results = (await connection.query({
    text: `BEGIN ${mode}; ${sql}`,
    rowMode: "array",
  })) as unknown as {
    rows: (string | null)[][];
  }[];
  assertSafe(config, config.settings, results[1]?.rows[0]);
}

/** Whether the settings can be made for one transaction on the server that a client is connected to. Rejects if it is lost. */
export function takesSettings(
  client: Client,
  config: HostConfig,
  settings: TransactionSettings,
): Promise<boolean> {
  const text = "SELECT current_setting('synchronous_commit')";
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const query = new GuardedQuery({ text, rowMode: "array" }, connectionConfig(config), settings);
  const callback = (error: Error | null, result?: { rows: string[][] }) => {
    if (error instanceof DatabaseError && unknownStates.test(error.code ?? "")) resolve(false);
    else if (error !== null) reject(error);
    else resolve(result?.rows[0]?.[0] === settings.synchronousCommit);
  };
  client.query(Object.assign(query, { callback }));
  return promise;
}

function connectionConfig(config: HostConfig): ConnectionConfig {
  const statementMs = Number(config.query_timeout ?? 0);
  return { ...config, statementMs, query_timeout: Math.min(statementMs + graceMs, timerMsMax) };
}

/** A connection that cancels what it still runs when it is ended. */
class StoreClient extends Client {
  readonly config: ConnectionConfig;

  /** @param config the options of its pool. */
  constructor(config: ConnectionConfig) {
    super(config);
    this.config = config;
  }

  /** Whether the server works on a statement, as far as is known. */
  get isBusy(): boolean {
    const { readyForQuery, processID } = this as unknown as Backend;
    return readyForQuery === false && processID !== null && !socketOf(this).destroyed;
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const { promise, resolve } = Promise.withResolvers<void>();
    const finish = () => {
      // A host that hangs answers no goodbye.
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
   * Resolves when the server has ended the statement. The connection stays open until then: PgBouncer forgets whose
   * statement it is when a client leaves, and could cancel nothing any more.
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
    await resolvedWithin(ended, errorPauseMs);
    while (!hasEnded && performance.now() < deadline) {
      await Promise.race([ended, requestCancel(this)]);
      await resolvedWithin(ended, cancelPauseMs);
    }
    connection.off("readyForQuery", end).off("end", end);
    // An idle backend ends as soon as its socket does.
    socketOf(this).destroy();
  }
}

/** Resolves when a promise does, or after some time; leaves no timer behind, which would keep the process. */
async function resolvedWithin(promise: Promise<void>, ms: number): Promise<void> {
  const { promise: passed, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  await Promise.race([promise, passed]);
  clearTimeout(timer);
}

interface Backend {
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly readyForQuery?: boolean;
}

/** Asks a client's server, on a connection of its own, to cancel what it runs; resolves when that has been heard, or cannot be. */
function requestCancel(client: StoreClient): Promise<void> {
  const { ssl, host = "", port = 0, stream, connectionTimeoutMillis } = client.config;
  const { processID, secretKey } = client as unknown as Backend;
  if (processID === null || secretKey === null) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const isTls = typeof ssl === "object";
  // The very server: a name may stand for several. Its certificate is still the name's.
  const address = host.startsWith("/") ? host : (socketOf(client).remoteAddress ?? host);
  const tls = isTls ? { ...ssl, host, ...(isIP(host) === 0 ? { servername: host } : {}) } : false;
  const connection = new Connection({ ssl: tls, ...(stream === undefined ? {} : { stream }) } as object);
  const own = connection as unknown as ConnectionInternals;
  const send = () => own.cancel(processID, secretKey);
  const timer = setTimeout(() => own.stream.destroy(), connectionTimeoutMillis);
  connection.on("error", () => own.stream.destroy());
  connection.once("connect", () => (isTls ? own.requestSsl() : send()));
  connection.once("sslconnect", send);
  // The server answers by closing.
  connection.once("end", () => {
    clearTimeout(timer);
    resolve();
  });
  if (address.startsWith("/")) own.connect(`${address}/.s.PGSQL.${port}`);
  else own.connect(port, address);
  return promise;
}

/** The connections to one host. */
export class HostPool extends Pool {
  readonly #clients = new Set<StoreClient>();
  /** Clients that are not connected yet. The pool names none of them, and one that a host never answers keeps the process. */
  readonly #connecting: ReadonlySet<StoreClient>;
  #emptied: PromiseWithResolvers<void> | undefined;

  constructor(config: HostConfig, connectionsMax: number) {
    const own = connectionConfig(config);
    const connecting = new Set<StoreClient>();
    class PoolClient extends StoreClient {
      constructor(clientConfig: ConnectionConfig) {
        super(clientConfig);
        connecting.add(this);
        const settle = () => connecting.delete(this);
        this.once("connect", settle).once("end", settle);
      }
    }
    super({ ...own, Client: PoolClient as never, max: connectionsMax, idleTimeoutMillis: 0 });
    this.#connecting = connecting;
    // A connection that breaks is taken out by the pool, and its query rejects; without listeners it would also
    // end the process.
    this.on("error", () => undefined);
    this.on("connect", (client) => {
      client.on("error", () => undefined);
      this.#clients.add(client as unknown as StoreClient);
    });
    this.on("remove", (client) => {
      this.#clients.delete(client as unknown as StoreClient);
      if (this.#clients.size === 0) this.#emptied?.resolve();
    });
    const { settings } = config;
    if (settings === undefined) return;
    const send = this.query.bind(this) as (query: object) => unknown;
    this.query = ((statement: string | Statement, values?: readonly unknown[]) => {
      const whole = typeof statement === "string" ? { text: statement } : statement;
      return send(
        new GuardedQuery(values === undefined ? whole : { ...whole, values: [...values] }, own, settings),
      );
    }) as Pool["query"];
  }

  /** Connections whose backend is not known to be gone. */
  get size(): number {
    return this.#clients.size;
  }

  /** Lets no more work in. What is under way goes on to its end, or its time limit; resolves when no connection is left. */
  retire(): Promise<void> {
    if (this.#emptied !== undefined) return this.#emptied.promise;
    this.#emptied = Promise.withResolvers<void>();
    for (const client of this.#clients) if (!client.isBusy) socketOf(client).destroy();
    for (const client of this.#connecting) socketOf(client).destroy();
    void this.end();
    if (this.#clients.size === 0) this.#emptied.resolve();
    return this.#emptied.promise;
  }

  /** The same, and breaks off after a while what is still connected: an open socket keeps the process. */
  async close(): Promise<void> {
    const deadline = setTimeout(() => {
      for (const client of this.#clients) socketOf(client).destroy();
    }, closeMsMax);
    await this.retire();
    clearTimeout(deadline);
  }
}

/** The client's socket, which its types do not tell of. */
export function socketOf(client: object): Socket {
  return (client as { connection: { stream: Socket } }).connection.stream;
}
