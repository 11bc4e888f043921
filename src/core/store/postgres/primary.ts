// Finds the primary, the host that accepts writes, and finds it again after a failover.
// node-postgres has no target_session_attrs, and those of other clients accept some standbys, so
// each host is probed.

import { OperatorError } from "../../operator-error.ts";
import type { StoreWait } from "../plant-store.ts";
import type { HostConfig, PostgresUrl } from "./connection-url.ts";
import { classifyError, errorReason, isRefusal, NoPrimary } from "./errors.ts";
import { HostPool } from "./host-pool.ts";

/** The pause before a retry, so that a database that is down is not flooded. */
const retryPauseMs = 100;

/** A longer wait is reported. */
const silentMsMax = 800;

/** How long running statements may continue after the signal was aborted. */
const abortedWorkMsMax = 1_000;

interface RetryOptions {
  readonly isAborted?: () => boolean;
  /** Called with the reason before each retry of work that has taken longer than 800 ms. */
  readonly onSlow?: (reason: string) => void;
}

/** Runs work, and retries it for a time after `connectionLost` or `retryable`. */
export async function retry<Result>(
  work: () => Promise<Result>,
  retryMsMax: number,
  { isAborted = () => false, onSlow = () => undefined }: RetryOptions = {},
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
      await Bun.sleep(retryPauseMs);
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
  /**
   * Pools with connections that may still be open: of the host in use, of hosts that are being
   * checked, and of lost hosts, where the server may still be running statements.
   */
  readonly #pools = new Set<HostPool>();
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
    const retrying = retry(() => this.once(work), this.#address.retryMsMax, {
      isAborted: () => this.#wait.signal?.aborted === true,
      onSlow: (reason) => this.#reportWaiting(reason),
    });
    return this.#aborted === undefined ? retrying : Promise.race([retrying, this.#aborted]);
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

  /** From now on an aborted signal ends only waits for a host, and retries, not running work. */
  finishOpening(): void {
    this.#aborted = undefined;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#found = undefined;
    await Promise.all([...this.#pools].map((pool) => pool.close()));
  }

  /** Running statements may continue for abortedWorkMsMax. */
  #abort(): void {
    for (const pool of this.#pools) if (pool !== this.#found) void pool.close();
    setTimeout(() => void this.#found?.close(), abortedWorkMsMax).unref();
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
    this.#retire(pool);
  }

  /** Not awaited: on a host that hangs it takes a long time. */
  #retire(pool: HostPool): void {
    void pool.retire().then(() => this.#pools.delete(pool));
  }

  async #find(): Promise<HostPool> {
    // No host is waited for after it: the last writes would wait for connect_timeout.
    if (this.#wait.signal?.aborted) throw new NoPrimary("interrupted");
    const slow = setTimeout(() => this.#reportWaiting("no response yet"), silentMsMax);
    try {
      this.#found = await this.#openFirst();
      return this.#found;
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      throw new NoPrimary(error.errors.map(errorReason).join("; "), error.errors.some(isRefusal));
    } finally {
      clearTimeout(slow);
    }
  }

  /**
   * Opens all hosts at the same time, so that one that hangs does not delay the others, and resolves
   * with the first that accepts writes.
   */
  async #openFirst(): Promise<HostPool> {
    const openings = this.#address.hosts.map((host) => this.#open(host));
    const found = await Promise.any(openings);
    for (const opening of openings)
      opening.then(
        (other) => other === found || this.#retire(other),
        () => undefined,
      );
    return found;
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

  /** The connections to a host, once it has shown that it accepts writes. */
  async #open(config: HostConfig): Promise<HostPool> {
    // Nothing would end this pool after close, and its connections would keep the process alive.
    if (this.#isClosed) throw new NoPrimary("the store was closed");
    const pool = new HostPool(config, this.#poolConnectionsMax, this.#address.statementMsMax);
    try {
      this.#assertFewRetired(pool.name);
      this.#pools.add(pool);
      await pool.check();
      return pool;
    } catch (error) {
      void pool.destroy().then(() => this.#pools.delete(pool));
      throw new NoPrimary(`${pool.name}: ${errorReason(error)}`, isRefusal(error));
    }
  }

  /** Bounds the connections to a host to two pools: more would only queue behind retired ones. */
  #assertFewRetired(name: string): void {
    const retired = [...this.#pools]
      .filter((pool) => pool.name === name)
      .reduce((sum, { size }) => sum + size, 0);
    if (retired > this.#poolConnectionsMax)
      throw new Error(`${retired} connections that were given up may still be open`);
  }
}

function hostName({ host, port }: HostConfig): string {
  return `${host}:${port}`;
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
