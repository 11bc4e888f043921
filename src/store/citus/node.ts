// One node of a Citus cluster: a batch goes straight to the node that has its plants, which costs a
// fifth of the processor time of the coordinator's way.

import { OperatorError } from "../../base/operator-error.ts";
import { unlessAborted } from "../../base/time-limit.ts";
import type { NewEntry, OnUnavailable, Outcome } from "../plant-store.ts";
import type { PostgresUrl } from "../postgres/connection-url.ts";
import { DatabaseError } from "../postgres/driver.ts";
import { errorReason, isUndefinedTable } from "../postgres/errors.ts";
import type { HostPool } from "../postgres/host-pool.ts";
import { createPlants } from "../postgres/plants.ts";
import { type Commits, Primary, retry } from "../postgres/primary.ts";
import type { NodeStore } from "./node-queues.ts";

/** How often a node shows that it responds, also where no plant is created on it. */
const checkMs = 250;

/**
 * Checks in a row that a node fails, or that come while it does not respond to an earlier one, for a
 * second: then it is down, and nothing waits for it any more. Where this thread is busy they come late,
 * too, so that the time does not count against the node.
 */
const missedChecksMax = 4;

/** The pause between two probes of a node that is down. */
const probePauseMs = 250;

/**
 * On a node, COPY does not plan each shard, so it pays from 4 plants on. COPY for 4 plants or more
 * made 1.4 times the creates at 32 connections and 1.2 times at 64 that COPY for 16 or more made.
 */
const copyRowsMin = 4;

interface NodeOptions {
  readonly name: string;
  /** Names this node alone. */
  readonly url: PostgresUrl;
  /** Commits what the node rejects because it has no plants any more. */
  readonly coordinator: Commits;
  readonly onUnavailable: OnUnavailable;
  /** Called when the node shows that the shard map may have changed. */
  readonly onOutdated: () => void;
}

export class CitusNode implements Commits, NodeStore {
  readonly name: string;
  readonly #options: NodeOptions;
  readonly #connections: Primary;
  readonly #checks: Timer;
  #isChecking = false;
  #missedChecks = 0;
  #down = new AbortController();
  #isClosed = false;

  constructor(options: NodeOptions) {
    this.name = options.name;
    this.#options = options;
    this.#connections = new Primary({ ...options.url, copyRowsMin });
    this.#checks = setInterval(() => void this.#check(), checkMs);
  }

  /** Aborted when the node is down; another one once it is up again. */
  get down(): AbortSignal {
    return this.#down.signal;
  }

  get isUp(): boolean {
    return !this.down.aborted;
  }

  /** Commits a batch. While the node is down, and when it goes down, its plants are `unavailable` at once. */
  async create(batch: readonly NewEntry[], createdAt = Date.now()): Promise<Outcome[]> {
    if (!this.isUp) return batch.map(() => "unavailable");
    const creating = createPlants(this, batch, createdAt, this.#options.onUnavailable);
    return unlessAborted(creating, this.down).catch((error) => {
      if (this.isUp) throw error;
      return batch.map(() => "unavailable");
    });
  }

  async withRetry<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    try {
      const retrying = { isAborted: () => !this.isUp };
      return await retry(() => this.once(work), this.#options.url.retryMsMax, retrying);
    } catch (error) {
      if (!isUndefinedTable(error)) throw error;
      // The node was removed, or has no metadata.
      this.#options.onOutdated();
      return this.#options.coordinator.withRetry(work);
    }
  }

  async once<Result>(work: (pool: HostPool) => Promise<Result>): Promise<Result> {
    try {
      return await this.#connections.once(work);
    } catch (error) {
      // The node itself responds, but has lost another that it sent plants on to.
      if (error instanceof DatabaseError && error.code?.startsWith("08")) this.#options.onOutdated();
      throw error;
    }
  }

  /**
   * Commits a message to logical decoding, which has no reader: a transaction that changes nothing,
   * and waits for the disk and the standby.
   */
  async assertWritable(): Promise<void> {
    this.down.throwIfAborted();
    await this.once(commitMessage);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#checks);
    await this.#connections.close();
  }

  /** Asks the node for nothing. */
  async #check(): Promise<void> {
    if (!this.isUp) return;
    if (this.#isChecking) return this.#miss("it does not respond");
    this.#isChecking = true;
    try {
      await this.#connections.once((pool) => pool.query("SELECT"));
      this.#missedChecks = 0;
    } catch (error) {
      this.#miss(errorReason(error));
    } finally {
      this.#isChecking = false;
    }
  }

  #miss(reason: string): void {
    if (!this.isUp || this.#isClosed || ++this.#missedChecks < missedChecksMax) return;
    this.#options.onUnavailable(reason);
    this.#down.abort(new OperatorError(`${this.name} is down: ${reason}`));
    void this.#awaitRecovery();
  }

  async #awaitRecovery(): Promise<void> {
    while (!this.#isClosed && !this.isUp) {
      this.#options.onOutdated();
      await Bun.sleep(probePauseMs);
      await this.#connections.once(commitMessage).then(
        () => {
          this.#missedChecks = 0;
          this.#down = new AbortController();
        },
        () => undefined,
      );
    }
  }
}

function commitMessage(pool: HostPool): Promise<unknown> {
  return pool.query("SELECT pg_logical_emit_message(true, 'plantstore', '')");
}
