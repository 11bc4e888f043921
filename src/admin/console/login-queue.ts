// The order in which passwords are checked: fair between the addresses that they come from, so that strangers cannot keep
// the right password from its check.

import type { Clock } from "../../observability/server-event.ts";
import { clientOf, networkOf } from "../client-address.ts";

/** Attempts of one client in a minute, the right password included. */
const attemptsMax = 5;
const attemptsPeriodMs = 60_000;

/** Attempts that wait. Each check takes some 0.3 seconds. */
const waitingMax = 60;

/** Clients whose attempts are remembered: it takes the checks of most of an hour for one of them to be forgotten. */
const clientsMax = 10_000;

/** An IPv4 address, or a /64 of IPv6. */
interface Client {
  readonly network: string;
  /** Attempts that were checked or wait, for as long as the client is remembered. */
  attempts: number;
  waiting: number;
  recentAttempts: number;
  periodEndsAt: number;
  hasLoggedIn: boolean;
}

/** Lower is earlier; compared number by number. */
type Rank = readonly number[];

interface Attempt {
  readonly client: Client;
  readonly rank: Rank;
  readonly check: () => Promise<boolean>;
  readonly outcome: PromiseWithResolvers<CheckOutcome>;
}

/** `tooMany`: not checked, as this client has tried too often in this minute, or more urgent attempts fill the queue. */
type CheckOutcome = boolean | "tooMany";

/**
 * One check at a time, as each costs 64 MiB and a good part of a second of a processor. First come clients that have logged
 * in before, then those with fewer attempts so far, then those from networks with fewer attempts, then those that came
 * first. So a client that has not tried yet waits for other such clients alone, and each of them is one only once.
 */
export class LoginQueue {
  readonly #now: Clock;
  /** Least recently used first. */
  readonly #clients = new Map<string, Client>();
  readonly #networkAttempts = new Map<string, number>();
  /** In the order of arrival. */
  readonly #waiting: Attempt[] = [];
  #isChecking = false;

  constructor(now: Clock) {
    this.#now = now;
  }

  /** Resolves with whether the password was right, once its check had its turn. */
  run(address: string, check: () => Promise<boolean>): Promise<CheckOutcome> {
    const key = clientOf(address);
    const client = this.#clients.get(key) ?? newClient(networkOf(address));
    const now = this.#now();
    if (now >= client.periodEndsAt) {
      client.recentAttempts = 0;
      client.periodEndsAt = now + attemptsPeriodMs;
    }
    const networkAttempts = this.#networkAttempts.get(client.network) ?? 0;
    const rank = [client.hasLoggedIn ? 0 : 1, client.attempts, networkAttempts];
    if (client.recentAttempts >= attemptsMax || !this.#makeRoom(rank)) return Promise.resolve("tooMany");
    this.#remember(key, client);
    this.#count(client, 1);
    const outcome = Promise.withResolvers<CheckOutcome>();
    this.#waiting.push({ client, rank, check, outcome });
    this.#checkNext();
    return outcome.promise;
  }

  /** Whether there is room for an attempt; one that is less urgent is refused for it where need be, and does not count. */
  #makeRoom(rank: Rank): boolean {
    if (this.#waiting.length < waitingMax) return true;
    const last = this.#waiting.reduce((one, other) => (compare(other.rank, one.rank) >= 0 ? other : one));
    if (compare(rank, last.rank) >= 0) return false;
    this.#waiting.splice(this.#waiting.indexOf(last), 1);
    this.#count(last.client, -1);
    last.outcome.resolve("tooMany");
    return true;
  }

  #count(client: Client, change: 1 | -1): void {
    client.attempts += change;
    client.waiting += change;
    client.recentAttempts = Math.max(0, client.recentAttempts + change);
    this.#countNetwork(client.network, change);
  }

  /** So that neither the client nor its network is any later for it. */
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

  #remember(key: string, client: Client): void {
    this.#clients.delete(key);
    this.#clients.set(key, client);
    if (this.#clients.size <= clientsMax) return;
    for (const [oldestKey, oldest] of this.#clients) {
      if (oldest.waiting > 0 || oldest.hasLoggedIn || oldest === client) continue;
      this.#clients.delete(oldestKey);
      this.#countNetwork(oldest.network, -oldest.attempts);
      break;
    }
  }

  #checkNext(): void {
    if (this.#isChecking || this.#waiting.length === 0) return;
    const next = this.#waiting.reduce((one, other) => (compare(other.rank, one.rank) < 0 ? other : one));
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#isChecking = true;
    void this.#check(next);
  }

  async #check({ client, check, outcome }: Attempt): Promise<void> {
    try {
      const isRight = await check();
      if (isRight) this.#countSuccess(client);
      outcome.resolve(isRight);
    } catch (error) {
      outcome.reject(error);
    }
    client.waiting--;
    this.#isChecking = false;
    this.#checkNext();
  }
}

function newClient(network: string): Client {
  return {
    network,
    attempts: 0,
    waiting: 0,
    recentAttempts: 0,
    periodEndsAt: Number.NEGATIVE_INFINITY,
    hasLoggedIn: false,
  };
}

function compare(one: Rank, other: Rank): number {
  const index = one.findIndex((number, at) => number !== other[at]);
  return index === -1 ? 0 : (one[index] ?? 0) - (other[index] ?? 0);
}
