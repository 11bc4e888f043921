// Finds the primary, the host that accepts writes, and finds it again after a failover.
// node-postgres has no target_session_attrs, and those of other clients accept some standbys, so
// each host is probed.

import { OperatorError } from "../../operator-error.ts";
import type { StoreWait } from "../plant-store.ts";
import {
  backendOf,
  type HostConfig,
  HostPool,
  socketOf,
  supportsSettings,
  unloggedSql,
  unsafeReason,
} from "./connection.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { Client, type ClientConfig, type Pool, type PoolClient } from "./driver.ts";
import { classifyError, errorReason, NoPrimary } from "./errors.ts";

/** The pause before a retry, so that a database that is down is not flooded. */
const retryPauseMs = 100;

/** With load_balance_hosts=random the next host is probed after this long, or an error. */
const nextHostMs = 300;

/** A longer wait is reported. */
const silentMsMax = 800;

/** How long running statements may continue after the signal was aborted. */
const abortedWorkMsMax = 1_000;

interface RetryOptions {
  readonly isAborted?: () => boolean;
  /** Called with the reason before each retry of work that has taken longer than 800 ms. */
  readonly onSlow?: (reason: string) => void;
  readonly pause?: (ms: number) => Promise<unknown>;
}

/** Runs work, and retries it for a time after `connectionLost` or `retryable`. */
export async function retry<Result>(
  work: () => Promise<Result>,
  retryMsMax: number,
  { isAborted = () => false, onSlow = () => undefined, pause = Bun.sleep }: RetryOptions = {},
): Promise<Result> {
  const startedAt = performance.now();
  const deadline = startedAt + retryMsMax;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const failure = classifyError(error);
      const isRetryable = failure === "connectionLost" || failure === "retryable";
      if (!isRetryable || isAborted() || performance.now() > deadline) throw error;
      if (performance.now() - startedAt > silentMsMax) onSlow(errorReason(error));
      await pause(retryPauseMs);
    }
  }
}

/** The connections that plants are committed on. */
export type Commits = Pick<Primary, "once" | "withRetry">;

export class Primary {
  readonly #address: PostgresUrl;
  readonly #wait: StoreWait;
  /** Rejects when the signal is aborted while the store is being opened. */
  #aborted: Promise<never> | undefined;
  #finding: Promise<HostPool> | undefined;
  #found: HostPool | undefined;
  /** The host that was lost last. */
  #lost: string | undefined;
  /** Pools of lost hosts, by host name, whose statements the server may still be running. */
  readonly #retired = new Map<HostPool, string>();
  /** Connections that check whether a host accepts writes. */
  readonly #probes = new Set<Client>();
  #isWaiting = false;
  #isClosed = false;

  constructor(address: PostgresUrl, wait: StoreWait = {}) {
    this.#address = address;
    this.#wait = wait;
    this.#aborted = rejectionOnAbort(wait.signal);
    wait.signal?.addEventListener("abort", () => this.#abort());
  }

  /**
   * Runs work on the primary, and retries it for retry_timeout after `connectionLost` or
   * `retryable`. It must be safe to repeat: its commit may have succeeded without a response.
   */
  async withRetry<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    return retry(() => this.#orAborted(this.once(work)), this.#address.retryMsMax, {
      isAborted: () => this.#wait.signal?.aborted === true,
      onSlow: (reason) => this.#reportWaiting(reason),
      pause: (ms) => this.#orAborted(Bun.sleep(ms)),
    });
  }

  /** Runs work on the primary once. After `connectionLost` the next call finds it again. */
  async once<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    const pool = await this.#pool();
    try {
      const result = await work(pool);
      this.#isWaiting = false;
      return result;
    } catch (error) {
      if (classifyError(error) === "connectionLost") this.#forget(pool);
      throw error;
    }
  }

  /** Runs work that needs its own connection, such as a transaction of several statements. */
  withRetryOnConnection<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    return this.withRetry((pool) => onConnection(pool, work));
  }

  /** `withRetryOnConnection` without a retry. */
  onceOnConnection<Result>(work: (connection: PoolClient) => Promise<Result>): Promise<Result> {
    return this.once((pool) => onConnection(pool, work));
  }

  /** From now on an aborted signal ends only waits for a host, and retries, not running work. */
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

  /** Running statements may continue for abortedWorkMsMax. */
  #abort(): void {
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
    this.#lost = hostName(pool.options);
    this.#retired.set(pool, this.#lost);
    // Not awaited: on a host that hangs it takes a long time.
    void pool.retire().then(() => this.#retired.delete(pool));
  }

  async #find(): Promise<HostPool> {
    // No host is waited for after it: the last writes would wait for connect_timeout.
    if (this.#wait.signal?.aborted) throw new NoPrimary("interrupted");
    const slow = setTimeout(() => this.#reportWaiting("no response yet"), silentMsMax);
    try {
      const config = await (this.#address.isLoadBalanced ? this.#findRandom() : this.#findFirst());
      // Nothing would end this pool after close, and its connections would keep the process alive.
      if (this.#isClosed) throw new NoPrimary("the store was closed");
      const pool = new HostPool(config, this.#poolConnectionsMax);
      this.#found = pool;
      return pool;
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      throw new NoPrimary(error.errors.map(errorReason).join("; "), error.errors.some(isRefusal));
    } finally {
      clearTimeout(slow);
    }
  }

  /** Probes all hosts at the same time, so that one that hangs does not delay the others. */
  #findFirst(): Promise<HostConfig> {
    const { hosts, allowPlaintextFallback } = this.#address;
    return Promise.any(hosts.map((host) => this.#writableConfig(host, allowPlaintextFallback)));
  }

  /**
   * Probes the hosts in random order, the one that was lost last at the end. Probing all at once
   * would prefer the nearest; waiting for one that hangs would take connect_timeout.
   */
  async #findRandom(): Promise<HostConfig> {
    const { hosts, allowPlaintextFallback } = this.#address;
    const others = shuffle(hosts.filter((host) => hostName(host) !== this.#lost));
    const lost = hosts.filter((host) => hostName(host) === this.#lost);
    const probes: Promise<HostConfig>[] = [];
    for (const host of [...others, ...lost]) {
      const probe = this.#writableConfig(host, allowPlaintextFallback);
      probes.push(probe);
      const { promise: isNextDue, resolve } = Promise.withResolvers<undefined>();
      const timer = setTimeout(resolve, nextHostMs);
      probe.catch(() => resolve(undefined));
      const found = await Promise.race([Promise.any(probes).catch(() => undefined), isNextDue]);
      clearTimeout(timer);
      if (found !== undefined) return found;
    }
    return Promise.any(probes);
  }

  /** One more than batches in flight, so that tokens and probes never wait for a batch. */
  get #poolConnectionsMax(): number {
    return this.#address.connectionsMax + 1;
  }

  /** Reports once for each outage. */
  #reportWaiting(reason: string): void {
    if (this.#isWaiting || this.#isClosed) return;
    this.#isWaiting = true;
    const names = this.#address.hosts.map(hostName);
    // With a single host the reason need not name it.
    const why = names.length === 1 ? reason.replace(`${names[0]}: `, "") : reason;
    const seconds = Math.max(0, this.#address.retryMsMax) / 1_000;
    this.#wait.report?.(`PostgreSQL at ${names.join(", ")} (${why}), up to ${seconds} s`);
  }

  /** The connection options of a host, once a probe has shown that it accepts writes. */
  async #writableConfig(config: HostConfig, allowPlaintextFallback: boolean): Promise<HostConfig> {
    const name = hostName(config);
    try {
      this.#assertFewRetired(name);
      return await this.#probe(config);
    } catch (error) {
      if (allowPlaintextFallback && error instanceof Error && /does not support SSL/.test(error.message)) {
        return this.#writableConfig({ ...config, ssl: false }, false);
      }
      throw new NoPrimary(`${name}: ${errorReason(error)}`, isRefusal(error));
    }
  }

  /** Bounds the connections to a host to two pools: more would only queue behind retired ones. */
  #assertFewRetired(name: string): void {
    const retired = [...this.#retired]
      .filter(([, host]) => host === name)
      .reduce((sum, [{ size }]) => sum + size, 0);
    if (retired > this.#poolConnectionsMax)
      throw new Error(`${retired} connections that were given up may still be open`);
  }

  async #probe(config: HostConfig): Promise<HostConfig> {
    const client = new Client(config);
    client.on("error", () => undefined);
    this.#probes.add(client);
    try {
      await client.connect();
      return await checkPrimary(client, config, this.#address);
    } finally {
      this.#probes.delete(client);
      socketOf(client).destroy();
    }
  }
}

function hostName({ host, port }: Pick<ClientConfig, "host" | "port">): string {
  return `${host}:${port}`;
}

function shuffle<Value>(values: readonly Value[]): Value[] {
  const keys = crypto.getRandomValues(new Uint32Array(values.length));
  return values
    .map((value, index) => ({ value, key: keys[index] ?? 0 }))
    .sort((one, other) => one.key - other.key)
    .map(({ value }) => value);
}

/** A promise that rejects when a signal is aborted, and never settles otherwise. */
function rejectionOnAbort(signal: AbortSignal | undefined): Promise<never> | undefined {
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
    // The state of the connection is unknown, so it is not reused.
    connection.release(true);
    throw error;
  }
}

/** Checks that the connected host accepts writes and keeps its commits; returns its options. */
async function checkPrimary(
  client: Client,
  config: HostConfig,
  { acceptsTornPages, statements }: PostgresUrl,
): Promise<HostConfig> {
  const { rows } = await client.query<Record<string, string | null>>(
    `SELECT current_setting('transaction_read_only') AS read_only, current_setting('server_encoding') AS encoding,
            current_setting('synchronous_commit', true) AS commits, current_setting('fsync', true) AS fsync,
            current_setting('full_page_writes', true) AS full_pages, ${unloggedSql} AS unlogged, version() AS version,
            current_setting('citus.shard_count', true) AS shards, pg_backend_pid()::text AS backend`,
  );
  const { read_only, encoding, commits, fsync, full_pages, unlogged, version, shards, backend } =
    rows[0] ?? {};
  if (read_only !== "off") throw new NoPrimary("accepts no writes (a standby, or read-only)", true);
  if (!/^utf-?8$/i.test(encoding ?? ""))
    throw new NoPrimary(`has the encoding ${encoding}; it must be UTF8`, true);
  const unsafe = unsafeReason(fsync, full_pages, unlogged, acceptsTornPages);
  if (unsafe !== undefined) throw new NoPrimary(unsafe, true);
  // YugabyteDB's version is that of a PostgreSQL with -YB- in it.
  const isPostgres = /^PostgreSQL (?!.*-YB-)/.test(version ?? "");
  // A pooler has its own process ids.
  const isDirect = backend === String(backendOf(client));
  if (statements === "named" && !isDirect) await assertTracksNames(client);
  const checked: HostConfig = {
    ...config,
    namesStatements: statements === "named" || (statements === "auto" && isPostgres && isDirect),
    // Loaded Citus is enough: the table may be distributed at any time.
    insertMethod: isPostgres && (shards ?? null) === null ? "unnest" : "values",
  };
  const synchronousCommit = commits === "remote_apply" ? "remote_apply" : "on";
  const settings = { synchronousCommit, acceptsTornPages } as const;
  if (await supportsSettings(client, config, settings)) return { ...checked, settings };
  if ((commits ?? "on") !== synchronousCommit)
    throw new NoPrimary(
      `has synchronous_commit ${commits}, which cannot be set for one transaction there, so that commits can be lost; set it to on`,
      true,
    );
  return checked;
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

function isRefusal(error: unknown): boolean {
  return error instanceof NoPrimary && error.isRefusal;
}
