// The host that takes writes, found and found again. The client libraries' own target_session_attrs is missing or
// lets a standby pass, so each host is asked.

import { OperatorError } from "../../operator-error.ts";
import type { StoreWait } from "../plant-store.ts";
import { type HostConfig, HostPool, socketOf, takesSettings, unsafeReason } from "./connection.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { Client, type ClientConfig, type Pool, type PoolClient } from "./driver.ts";
import { failureOf, NoPrimary, reasonOf } from "./error-classes.ts";

/** A pause before anything is tried again, so that a database that is down is not hammered. */
const retryPauseMs = 100;

/** A wait that lasts so long is reported. */
const silentMsMax = 800;

/** How long work that is on its way may go on after the store was told to wait no longer. */
const abortedWorkMsMax = 1_000;

export class Primary {
  readonly #address: PostgresUrl;
  readonly #wait: StoreWait;
  /** Rejects when the opening is broken off. */
  #aborted: Promise<never> | undefined;
  #finding: Promise<HostPool> | undefined;
  #found: HostPool | undefined;
  /** Pools that were given up, by host, with connections that the server may still work for. */
  readonly #retired = new Map<HostPool, string>();
  /** Connections that ask a host whether it takes writes. */
  readonly #probes = new Set<Client>();
  #isWaiting = false;
  #isClosed = false;

  constructor(address: PostgresUrl, wait: StoreWait = {}) {
    this.#address = address;
    this.#wait = wait;
    this.#aborted = rejectionBy(wait.signal);
    wait.signal?.addEventListener("abort", () => this.#breakOff());
  }

  /**
   * Does some work on the host that takes writes, and does it again while that host is lost or asks for it, for
   * as long as the address allows. The work must be safe to repeat, as its commit may have gone through unseen.
   */
  async withRetry<Result>(work: (pool: Pool) => Promise<Result>): Promise<Result> {
    const startedAt = performance.now();
    const deadline = startedAt + this.#address.retryMsMax;
    for (;;) {
      try {
        return await this.#orAborted(this.once(work));
      } catch (error) {
        const failure = failureOf(error);
        const mayTryAgain = failure === "lost" || failure === "again";
        if (!mayTryAgain || this.#wait.signal?.aborted || performance.now() > deadline) throw error;
        if (performance.now() - startedAt > silentMsMax) this.#reportWaiting(reasonOf(error));
        await this.#orAborted(Bun.sleep(retryPauseMs));
      }
    }
  }

  /** The same without trying again. */
  async once<Result>(work: (pool: Pool) => Promise<Result>): Promise<Result> {
    const pool = await this.#pool();
    try {
      const result = await work(pool);
      this.#isWaiting = false;
      return result;
    } catch (error) {
      if (failureOf(error) === "lost") this.#forget(pool);
      throw error;
    }
  }

  /** Work that needs one connection for itself, such as a transaction of several statements. */
  runOnConnection<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    return this.withRetry((pool) => onConnection(pool, work));
  }

  /** The same without trying again. */
  runOnceOnConnection<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    return this.once((pool) => onConnection(pool, work));
  }

  /** From now on the signal rejects nothing that is on its way: it ends what waits for a host, and tries nothing again. */
  finishOpening(): void {
    this.#aborted = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const probe of this.#probes) socketOf(probe).destroy();
    const pools = [...this.#retired.keys(), ...(this.#found === undefined ? [] : [this.#found])];
    this.#found = undefined;
    await Promise.all(pools.map((pool) => pool.close()));
  }

  /** What is on its way has a moment to end. */
  #breakOff(): void {
    for (const probe of this.#probes) socketOf(probe).destroy();
    setTimeout(() => void this.#found?.close(), abortedWorkMsMax).unref();
  }

  #orAborted<Result>(promise: Promise<Result>): Promise<Result> {
    return this.#aborted === undefined ? promise : Promise.race([promise, this.#aborted]);
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

  #forget(pool: HostPool): void {
    if (this.#found !== pool) return;
    this.#found = undefined;
    this.#finding = undefined;
    this.#retired.set(pool, nameOf(pool.options));
    // Not waited for: a host that hangs would never let go.
    void pool.retire().then(() => this.#retired.delete(pool));
  }

  /** Asks all hosts at once: one that hangs must not hold up the search. */
  async #find(): Promise<HostPool> {
    const { hosts, allowPlaintextFallback } = this.#address;
    const slow = setTimeout(() => this.#reportWaiting("no answer yet"), silentMsMax);
    try {
      const config = await Promise.any(
        hosts.map((host) => this.#writableConfig(host, allowPlaintextFallback)),
      );
      // Nobody would end these connections any more, and they would keep the process.
      if (this.#isClosed) throw new NoPrimary("the store was closed");
      const pool = new HostPool(config, this.#poolMax);
      this.#found = pool;
      return pool;
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      throw new NoPrimary(error.errors.map(reasonOf).join("; "));
    } finally {
      clearTimeout(slow);
    }
  }

  /** One more than there are batches in flight, so that tokens and readiness never wait for a batch. */
  get #poolMax(): number {
    return this.#address.connectionsMax + 1;
  }

  /** Once for each time that the database is away. */
  #reportWaiting(reason: string): void {
    if (this.#isWaiting || this.#isClosed) return;
    this.#isWaiting = true;
    const names = this.#address.hosts.map(nameOf);
    // Of a single host the reason need not say which.
    const why = names.length === 1 ? reason.replace(`${names[0]}: `, "") : reason;
    const seconds = Math.max(0, this.#address.retryMsMax) / 1_000;
    this.#wait.report?.(`PostgreSQL at ${names.join(", ")} (${why}), up to ${seconds} s`);
  }

  /** How to connect to a host, once it has shown that it takes writes; rejects with why it does not. */
  async #writableConfig(config: HostConfig, allowPlaintextFallback: boolean): Promise<HostConfig> {
    const name = nameOf(config);
    try {
      this.#assertRoom(name);
      return await this.#probe(config);
    } catch (error) {
      if (allowPlaintextFallback && error instanceof Error && /does not support SSL/.test(error.message)) {
        return this.#writableConfig({ ...config, ssl: false }, false);
      }
      throw new NoPrimary(`${name}: ${reasonOf(error)}`);
    }
  }

  /** A host never works for more than two pools: where the statements of the last one go on, more would only pile up behind them. */
  #assertRoom(name: string): void {
    const left = [...this.#retired]
      .filter(([, host]) => host === name)
      .reduce((sum, [{ size }]) => sum + size, 0);
    if (left > this.#poolMax)
      throw new Error(`${left} connections that were given up are not known to have ended`);
  }

  async #probe(config: HostConfig): Promise<HostConfig> {
    const client = new Client(config);
    client.on("error", () => undefined);
    this.#probes.add(client);
    try {
      await client.connect();
      return await checkedConfig(client, config, this.#address.acceptsTornPages);
    } finally {
      this.#probes.delete(client);
      socketOf(client).destroy();
    }
  }
}

function nameOf({ host, port }: Pick<ClientConfig, "host" | "port">): string {
  return `${host}:${port}`;
}

/** Rejects when a signal aborts, and never otherwise. */
function rejectionBy(signal: AbortSignal | undefined): Promise<never> | undefined {
  if (signal === undefined) return undefined;
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => undefined);
  const abort = () => reject(new OperatorError("interrupted while it waited for the database"));
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort, { once: true });
  return promise;
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

/** Throws why the host that a client is connected to cannot be written safely; else how its transactions are to be set. */
async function checkedConfig(
  client: Client,
  config: HostConfig,
  acceptsTornPages: boolean,
): Promise<HostConfig> {
  const { rows } = await client.query<Record<string, string | null>>(
    `SELECT current_setting('transaction_read_only') AS read_only, current_setting('server_encoding') AS encoding,
            current_setting('synchronous_commit', true) AS commits, current_setting('fsync', true) AS fsync,
            current_setting('full_page_writes', true) AS full_pages`,
  );
  const { read_only, encoding, commits, fsync, full_pages } = rows[0] ?? {};
  if (read_only !== "off") throw new Error("takes no writes (a standby, or read-only)");
  if (!/^utf-?8$/i.test(encoding ?? "")) throw new Error(`has the encoding ${encoding}; it must be UTF8`);
  const unsafe = unsafeReason(fsync, full_pages, acceptsTornPages);
  if (unsafe !== undefined) throw new Error(unsafe);
  const synchronousCommit = commits === "remote_apply" ? "remote_apply" : "on";
  const settings = { synchronousCommit, acceptsTornPages } as const;
  if (await takesSettings(client, config, settings)) return { ...config, settings };
  if ((commits ?? "on") !== synchronousCommit)
    throw new Error(
      `has synchronous_commit ${commits}, which cannot be set for one transaction there, so that commits can be lost; set it to on`,
    );
  return config;
}
