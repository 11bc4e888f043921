// Finds the primary, the host that accepts writes, and finds it again after a failover.
// node-postgres has no target_session_attrs, and those of other clients accept some standbys, so
// each host is checked.

import type { StoreWait } from "../plant-store.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { ConnectionLost, classifyError, errorReason } from "./errors.ts";
import { type HostLimits, HostPool } from "./host-pool.ts";

/** The pause before a retry, so that a database that is down is not flooded. */
const retryPauseMs = 100;

/** A longer wait is reported. */
const silentMsMax = 800;

/** How long statements may still be sent after the signal was aborted. */
const abortedMsMax = 500;

interface RetryOptions {
  readonly isAborted: () => boolean;
  /** Called with the reason before each retry of work that has taken longer than 800 ms. */
  readonly onSlow?: (reason: string) => void;
}

/** Runs work, and retries it for a time after `connectionLost` or `retryable`. */
export async function retry<Result>(
  work: () => Promise<Result>,
  retryMsMax: number,
  { isAborted, onSlow = () => undefined }: RetryOptions,
): Promise<Result> {
  const startedAt = performance.now();
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const failure = classifyError(error);
      const isRetryable = failure === "connectionLost" || failure === "retryable";
      const elapsedMs = performance.now() - startedAt;
      if (!isRetryable || isAborted() || elapsedMs > retryMsMax) throw error;
      if (elapsedMs > silentMsMax) onSlow(errorReason(error));
      await Bun.sleep(retryPauseMs);
    }
  }
}

/** The connections that plants are committed on. */
export type Commits = Pick<Primary, "once" | "withRetry">;

type PrimaryUrl = PostgresUrl & Pick<HostLimits, "copyRowsMin" | "isPipelined">;

export class Primary {
  readonly #url: PrimaryUrl;
  readonly #wait: StoreWait;
  readonly #hosts: readonly HostPool[];
  #found: Promise<HostPool> | undefined;
  #isReported = false;

  /** Connects at the first call. */
  constructor(url: PrimaryUrl, wait: StoreWait = {}) {
    this.#url = url;
    this.#wait = wait;
    this.#hosts = url.hosts.map((host) => new HostPool(host, url));
    // Hosts that do not respond are no longer waited for; a batch that is being committed may end.
    wait.signal?.addEventListener("abort", () => void setTimeout(() => this.close(), abortedMsMax).unref());
  }

  /**
   * Runs work on the primary, and retries it for retry_timeout after `connectionLost` or
   * `retryable`. It must be safe to repeat: its commit may have succeeded without a response.
   */
  withRetry<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    return retry(() => this.once(work), this.#url.retryMsMax, {
      isAborted: () => this.#wait.signal?.aborted === true,
      onSlow: (reason) => this.#reportOutage(reason),
    });
  }

  /** Runs work on the primary once. After `connectionLost` the next call finds it again. */
  async once<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    this.#found ??= this.#find();
    const found = this.#found;
    try {
      const result = await work(await found);
      this.#isReported = false;
      return result;
    } catch (error) {
      if (classifyError(error) === "connectionLost" && this.#found === found) this.#found = undefined;
      throw error;
    }
  }

  /** Reports what is waited for. */
  report(waitingFor: string): void {
    this.#wait.report?.(waitingFor);
  }

  async close(): Promise<void> {
    await Promise.all(this.#hosts.map((host) => host.close()));
  }

  /**
   * Checks all hosts at the same time, so that one that hangs does not delay the others, and
   * resolves with the first that accepts writes.
   */
  async #find(): Promise<HostPool> {
    const slow = setTimeout(() => this.#reportOutage("no response yet"), silentMsMax);
    try {
      return await Promise.any(this.#hosts.map((host) => host.check()));
    } catch (error) {
      if (!(error instanceof AggregateError)) throw error;
      throw new ConnectionLost(error.errors.map(errorReason).join("; "));
    } finally {
      clearTimeout(slow);
    }
  }

  /** Reports once for each outage. */
  #reportOutage(reason: string): void {
    if (this.#isReported) return;
    this.#isReported = true;
    const names = this.#hosts.map(({ name }) => name);
    // With a single host the reason need not name it.
    const why = names.length === 1 ? reason.replace(`${names[0]}: `, "") : reason;
    this.report(`PostgreSQL at ${names.join(", ")} (${why}), up to ${this.#url.retryMsMax / 1_000} s`);
  }
}
