// The queue of password checks: fair between client addresses, so that wrong passwords from many addresses cannot block the
// right one.

import type { Clock } from "../core/observability/server-event.ts";
import { toClientKey, toNetwork } from "./client-address.ts";

/** Attempts of one client in a period, successful ones included. */
const attemptsMax = 5;
const attemptsPeriodMs = 60_000;

/** Each check takes some 0.3 seconds. */
const queueLengthMax = 60;

/** Clients whose attempts are recorded. One check for each takes some 50 minutes. */
const clientsMax = 10_000;

/** An IPv4 address, or a /64 of IPv6. */
interface Client {
  readonly network: string;
  /** Attempts that were checked or are queued, since the client was first seen. */
  attempts: number;
  /** Attempts that are queued or being checked. */
  pending: number;
  recentAttempts: number;
  periodEndsAt: number;
  hasLoggedIn: boolean;
}

/** Compared number by number; the lowest is checked first. */
type Rank = readonly number[];

interface Attempt {
  readonly client: Client;
  readonly rank: Rank;
  readonly check: () => Promise<boolean>;
  readonly result: PromiseWithResolvers<CheckResult>;
}

/** `tooMany`: not checked, as this client has made too many attempts in this period, or attempts that rank before it fill the queue. */
type CheckResult = boolean | "tooMany";

/**
 * Runs one check at a time, as each takes 64 MiB and some 0.3 seconds of a processor. Clients that have logged in before
 * come first, then clients with fewer attempts, then clients from networks with fewer attempts, then first come, first
 * served. So the first attempt of a client waits only for first attempts of other clients.
 */
export class LoginQueue {
  readonly #now: Clock;
  /** Least recently used first. */
  readonly #clients = new Map<string, Client>();
  readonly #networkAttempts = new Map<string, number>();
  /** In the order of arrival. */
  readonly #queue: Attempt[] = [];
  #isChecking = false;

  constructor(now: Clock) {
    this.#now = now;
  }

  /** Queues a check, and resolves with its result: whether the password is right. */
  run(address: string, check: () => Promise<boolean>): Promise<CheckResult> {
    const key = toClientKey(address);
    const client = this.#clients.get(key) ?? newClient(toNetwork(address));
    const now = this.#now();
    if (now >= client.periodEndsAt) {
      client.recentAttempts = 0;
      client.periodEndsAt = now + attemptsPeriodMs;
    }
    const networkAttempts = this.#networkAttempts.get(client.network) ?? 0;
    const rank = [client.hasLoggedIn ? 0 : 1, client.attempts, networkAttempts];
    if (client.recentAttempts >= attemptsMax || !this.#reserve(rank)) return Promise.resolve("tooMany");
    this.#record(key, client);
    this.#count(client, 1);
    const result = Promise.withResolvers<CheckResult>();
    this.#queue.push({ client, rank, check, result });
    this.#checkNext();
    return result.promise;
  }

  /** Whether the queue has a place for an attempt. A full queue rejects its last attempt by rank instead, uncounted. */
  #reserve(rank: Rank): boolean {
    if (this.#queue.length < queueLengthMax) return true;
    const last = this.#queue.reduce((one, other) => (compare(other.rank, one.rank) >= 0 ? other : one));
    if (compare(rank, last.rank) >= 0) return false;
    this.#queue.splice(this.#queue.indexOf(last), 1);
    this.#count(last.client, -1);
    last.result.resolve("tooMany");
    return true;
  }

  #count(client: Client, change: 1 | -1): void {
    client.attempts += change;
    client.pending += change;
    client.recentAttempts = Math.max(0, client.recentAttempts + change);
    this.#countNetwork(client.network, change);
  }

  /** A success does not lower the rank of the client or of its network. */
  #countSuccess(client: Client): void {
    client.hasLoggedIn = true;
    client.attempts--;
    this.#countNetwork(client.network, -1);
  }

  #countNetwork(network: string, change: number): void {
    const attempts = (this.#networkAttempts.get(network) ?? 0) + change;
    if (attempts > 0) this.#networkAttempts.set(network, attempts);
    else this.#networkAttempts.delete(network);
  }

  #record(key: string, client: Client): void {
    this.#clients.delete(key);
    this.#clients.set(key, client);
    if (this.#clients.size <= clientsMax) return;
    for (const [oldestKey, oldest] of this.#clients) {
      if (oldest.pending > 0 || oldest.hasLoggedIn || oldest === client) continue;
      this.#clients.delete(oldestKey);
      this.#countNetwork(oldest.network, -oldest.attempts);
      break;
    }
  }

  #checkNext(): void {
    if (this.#isChecking || this.#queue.length === 0) return;
    const next = this.#queue.reduce((one, other) => (compare(other.rank, one.rank) < 0 ? other : one));
    this.#queue.splice(this.#queue.indexOf(next), 1);
    this.#isChecking = true;
    void this.#check(next);
  }

  async #check({ client, check, result }: Attempt): Promise<void> {
    try {
      const isRight = await check();
      if (isRight) this.#countSuccess(client);
      result.resolve(isRight);
    } catch (error) {
      result.reject(error);
    }
    client.pending--;
    this.#isChecking = false;
    this.#checkNext();
  }
}

function newClient(network: string): Client {
  return {
    network,
    attempts: 0,
    pending: 0,
    recentAttempts: 0,
    periodEndsAt: Number.NEGATIVE_INFINITY,
    hasLoggedIn: false,
  };
}

function compare(one: Rank, other: Rank): number {
  const index = one.findIndex((number, at) => number !== other[at]);
  return index === -1 ? 0 : (one[index] ?? 0) - (other[index] ?? 0);
}
