// Limits checks of the password: each takes 64 MiB and some 0.3 seconds of a processor.

import { AdminError } from "../../admin-pages/admin-responses.ts";
import { toClientKey } from "../../admin-pages/client-address.ts";
import { BoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/server-event.ts";

/**
 * A client may make this many attempts at once, and one more each time that this period has passed.
 */
const burst = 5;
const refillMs = 12_000;

/** Attempts that wait for the checks before theirs, of all clients. */
const waitingMax = 60;

/**
 * Some 200 checks fit into the minute in which a bucket is full again, so that a bucket that is
 * dropped is full.
 */
const bucketsMax = 1_000;

/**
 * A token bucket for each client, an IPv4 address or a /64 of IPv6; one check at a time, first
 * come, first served.
 */
export class LoginLimit {
  readonly #now: Clock;
  /** When each bucket is full again. */
  readonly #buckets = new BoundedMap<string, number>(bucketsMax);
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(now: Clock) {
    this.#now = now;
  }

  /**
   * Queues a check, and resolves with its result: whether the password is right. Rejects with an
   * AdminError if the client has made too many attempts, or too many of all clients wait.
   */
  async run(address: string, check: () => Promise<boolean>): Promise<boolean> {
    if (this.#waiting >= waitingMax || !this.#consume(toClientKey(address)))
      throw new AdminError(429, "Too many attempts; try again in a minute.");
    this.#waiting++;
    const checking = this.#last.then(() => {
      this.#waiting--;
      return check();
    });
    this.#last = checking.catch(() => undefined);
    return checking;
  }

  #consume(key: string): boolean {
    const now = this.#now();
    const fullAt = Math.max(now, this.#buckets.get(key) ?? now);
    if (fullAt - now > (burst - 1) * refillMs) return false;
    this.#buckets.set(key, fullAt + refillMs);
    return true;
  }
}
