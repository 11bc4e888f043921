// The host that takes writes, found and found again. The client libraries' own target_session_attrs is missing or
// lets a standby pass, so each host is asked.

import type { Socket } from "node:net";
import type { PostgresAddress } from "./address.ts";
import { Client, type ClientConfig, Pool, type PoolClient, type PoolConfig } from "./driver.ts";
import { failureOf, NoPrimary, reasonOf } from "./failures.ts";

/** A pause before anything is tried again, so that a database that is down is not hammered. */
const retryPauseMs = 100;

/** How long a close waits for the connections to end in peace. */
const closeMsMax = 1_000;

/** The connections to one host. */
class HostPool extends Pool {
  readonly #clients: ReadonlySet<Client>;

  constructor(config: PoolConfig) {
    const clients = new Set<Client>();
    // Known from the first moment: one that is still being connected may have to be cut off too.
    class KnownClient extends Client {
      constructor(clientConfig?: ClientConfig) {
        super(clientConfig);
        clients.add(this);
        this.once("end", () => clients.delete(this));
      }
    }
    super({ ...config, Client: KnownClient });
    this.#clients = clients;
    // A connection that breaks is taken out by the pool, and its query rejects; without listeners it would also
    // end the process.
    this.on("error", () => undefined);
    this.on("connect", (client) => client.on("error", () => undefined));
  }

  /** Breaks off what is connected, or about to be: a host that hangs answers no goodbye, and an open socket keeps the process. */
  cutOff(): void {
    for (const client of this.#clients) socketOf(client).destroy();
  }
}

export class Primary {
  readonly #address: PostgresAddress;
  #finding: Promise<HostPool> | undefined;
  #found: HostPool | undefined;
  #isClosed = false;
  readonly #signal: AbortSignal | undefined;

  /**
   * @param signal Once it is aborted nothing is tried again, no host is waited for to be connected, and what is under way
   *   has a second to end.
   */
  constructor(address: PostgresAddress, signal?: AbortSignal) {
    this.#address = address;
    this.#signal = signal;
    signal?.addEventListener("abort", () => {
      setTimeout(() => this.#found?.cutOff(), closeMsMax).unref();
    });
  }

  /**
   * Does some work on the host that takes writes, and does it again while that host is lost or asks for it, for
   * as long as the address allows. The work must be safe to repeat, as its commit may have gone through unseen.
   */
  async run<Result>(work: (pool: Pool) => Promise<Result>): Promise<Result> {
    const deadline = performance.now() + this.#address.retryMsMax;
    for (;;) {
      try {
        return await this.runOnce(work);
      } catch (error) {
        const failure = failureOf(error);
        const mayTryAgain = failure === "lost" || failure === "again";
        if (!mayTryAgain || this.#signal?.aborted || performance.now() > deadline) throw error;
        await Bun.sleep(retryPauseMs);
      }
    }
  }

  /** The same without trying again. */
  async runOnce<Result>(work: (pool: Pool) => Promise<Result>): Promise<Result> {
    const pool = await this.#pool();
    try {
      return await work(pool);
    } catch (error) {
      if (failureOf(error) === "lost") this.#forget(pool);
      throw error;
    }
  }

  /** Work that needs one connection for itself, such as a transaction of several statements. */
  runOnConnection<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    return this.run((pool) => onConnection(pool, work));
  }

  /** The same without trying again. */
  runOnceOnConnection<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    return this.runOnce((pool) => onConnection(pool, work));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const pool = this.#found;
    if (pool === undefined) return;
    this.#found = undefined;
    const deadline = setTimeout(() => pool.cutOff(), closeMsMax);
    await pool.end();
    clearTimeout(deadline);
  }

  async #pool(): Promise<HostPool> {
    this.#finding ??= this.#find();
    try {
      return await this.#finding;
    } catch (error) {
      this.#finding = undefined;
      throw error;
    }
  }

  #forget(pool: Pool): void {
    if (this.#found !== pool) return;
    this.#found.cutOff();
    this.#found = undefined;
    this.#finding = undefined;
    // Not waited for: a host that hangs would never let go.
    void pool.end();
  }

  /** Asks all hosts at once: one that hangs must not hold up the search. */
  async #find(): Promise<HostPool> {
    const { hosts, connectionsMax, plainIfNoTls } = this.#address;
    try {
      const config = await Promise.any(hosts.map((host) => writableConfig(host, plainIfNoTls, this.#signal)));
      // Nobody would end these connections any more, and they would keep the process.
      if (this.#isClosed) throw new NoPrimary("the store was closed");
      // One more than there are batches in flight, so that tokens and readiness never wait for a batch.
      const pool = new HostPool({ ...config, max: connectionsMax + 1, idleTimeoutMillis: 0 });
      this.#found = pool;
      return pool;
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      throw new NoPrimary(error.errors.map(reasonOf).join("; "));
    }
  }
}

async function onConnection<Result>(
  pool: Pool,
  work: (connection: PoolClient) => Promise<Result>,
): Promise<Result> {
  const connection = await pool.connect();
  try {
    const result = await work(connection);
    connection.release();
    return result;
  } catch (error) {
    // Whatever state the connection is in, nobody else shall have it.
    connection.release(true);
    throw error;
  }
}

/** How to connect to a host, once it has shown that it takes writes; rejects with why it does not. */
async function writableConfig(
  config: ClientConfig,
  plainIfNoTls: boolean,
  signal: AbortSignal | undefined,
): Promise<ClientConfig> {
  const name = `${config.host}:${config.port}`;
  try {
    await assertWritable(config, signal);
    return config;
  } catch (error) {
    if (plainIfNoTls && error instanceof Error && /does not support SSL/.test(error.message)) {
      return writableConfig({ ...config, ssl: false }, false, signal);
    }
    throw new NoPrimary(`${name}: ${reasonOf(error)}`);
  }
}

async function assertWritable(config: ClientConfig, signal: AbortSignal | undefined): Promise<void> {
  const client = new Client(config);
  client.on("error", () => undefined);
  const cutOff = () => socketOf(client).destroy();
  signal?.addEventListener("abort", cutOff);
  try {
    await client.connect();
    const { rows } = await client.query<Record<string, string | null>>(
      `SELECT current_setting('transaction_read_only') AS read_only, current_setting('server_encoding') AS encoding,
              current_setting('synchronous_commit', true) AS commits, current_setting('fsync', true) AS fsync`,
    );
    const settings = rows[0];
    if (settings?.read_only !== "off") throw new Error("takes no writes (a standby, or read-only)");
    if (!/^utf-?8$/i.test(settings.encoding ?? ""))
      throw new Error(`has the encoding ${settings.encoding}; it must be UTF8`);
    if (settings.commits === "off")
      throw new Error("has synchronous_commit off, so that commits can be lost; set it to on");
    if (settings.fsync === "off") throw new Error("has fsync off, so that commits can be lost; set it to on");
  } finally {
    signal?.removeEventListener("abort", cutOff);
    cutOff();
  }
}

/** The client's socket, which its types do not tell of. */
function socketOf(client: object): Socket {
  return (client as { connection: { stream: Socket } }).connection.stream;
}
