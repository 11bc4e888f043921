// Keeps the tokens that a running server accepts in memory: all of the store's, which are tens. One
// integer in the store changes with them, and is read once a second.

import { BoundedMap } from "../base/bounded-map.ts";
import { CoalescedWork } from "../base/coalesced-work.ts";
import { invalidToken, unavailable } from "../base/errors.ts";
import { errorMessage } from "../base/operator-error.ts";
import type { Emit } from "../base/server-event.ts";
import { withinTime } from "../base/time-limit.ts";
import { scopesOf } from "../contract/access.ts";
import type { TokenStore } from "../store/shared/sql-tokens.ts";
import type { TokenRecord } from "../store/shared/token-record.ts";
import type { AuthResult, Caller } from "./caller.ts";
import { activeUntil, hashToken } from "./token.ts";

/** The interval of reads. Changes are promised to take effect within 2 seconds. */
const readIntervalMs = 1_000;

/**
 * The pause between two reads for unknown tokens. A request with an unknown token has the tokens
 * read again, so that a new token works at once.
 */
const unknownTokenPauseMs = 50;

/** How many requests wait for a token. One with a long body holds what arrives of it. */
export function waitingMax(hasLongBody: boolean): number {
  return hasLongBody ? 64 : 1_024;
}

/** How long a request waits for such a read. */
const waitMsMax = 5_000;

/** Credentials that are remembered: one for each client that this server is likely to have. */
const credentialsMax = 1_024;

const minuteMs = 60_000;

/** The result for a token that is not in the store, or not active. */
export const unknownToken = invalidToken(
  "it is unknown, malformed, revoked or expired. Ask the operator for a new one.",
);
const storeUnavailable = unavailable("The store is unreachable, so the token cannot be verified");
const tooManyUnknown = unavailable("The server has too many unknown tokens to look up");

interface CachedToken {
  readonly caller: Caller;
  /** Milliseconds since the epoch; from then on the token is not accepted. */
  readonly activeUntil: number;
  /** When this server last accepted it, in milliseconds since the epoch; -Infinity if never. */
  usedAt: number;
}

export class TokenCache {
  readonly #store: TokenStore;
  readonly #now: () => number;
  readonly #emit: Emit;
  #byHash = new Map<string, CachedToken>();
  /**
   * Tokens by the Authorization fields that they were sent in, so that these are neither parsed nor
   * hashed.
   */
  readonly #byCredentials = new BoundedMap<string, CachedToken>(credentialsMax);
  /** Undefined if the tokens must be read, whatever their version. */
  #version: number | undefined;
  readonly #sharedRead = new CoalescedWork(() => this.#readTokens());
  #hasFailed = false;
  /**
   * The change that `readAfter` was called with last; unknown tokens wait for it. Only one is held:
   * a second change takes the place of one that is still under way.
   */
  #latestChange: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #timer: Timer | undefined;
  #isStarted = false;
  #recordedMinute: number;
  #recording: Promise<void> = Promise.resolve();

  /** @param now milliseconds since the epoch: tokens expire by it. */
  constructor(store: TokenStore, now: () => number, emit: Emit) {
    this.#store = store;
    this.#now = now;
    this.#emit = emit;
    this.#recordedMinute = startOfMinute(now());
  }

  /** Reads the tokens, and again each second. Rejects if they cannot be read. */
  async start(): Promise<void> {
    await this.#sharedRead.run(0);
    this.#isStarted = true;
    this.#timer = setInterval(() => this.#readAgain(), readIntervalMs);
  }

  #readAgain(): void {
    this.#sharedRead.run(0).then(
      () => this.#recordOnceAMinute(),
      // The read has reported it.
      () => undefined,
    );
  }

  /** Stops reading, and writes the last uses; resolves when no call to the store is running. */
  async stop(): Promise<void> {
    this.#isStarted = false;
    clearInterval(this.#timer);
    await Promise.all([this.#sharedRead.settled(), this.#recording]);
    await this.#recordUses(Number.NEGATIVE_INFINITY);
  }

  /**
   * Reads the tokens after a change, which is effective when it resolves. Unknown tokens wait for
   * it. Rejects with the error of the change, or if they cannot be read.
   */
  async readAfter(change: Promise<unknown> = Promise.resolve()): Promise<void> {
    this.#latestChange = change.catch(() => undefined);
    await change;
    await this.#sharedRead.run(0);
  }

  /** The caller of an active token that was looked up with these credentials before. */
  callerByCredentials(credentials: string): Caller | undefined {
    return this.#callerIfActive(this.#byCredentials.get(credentials));
  }

  /**
   * The caller of an active token, else `unknownToken`; `unavailable` if the store is unreachable.
   * Returns a promise only for a token that is unknown, and not for each of those.
   *
   * @param credentials the field that the token was sent in, for `callerByCredentials`.
   * @param hasLongBody whether the request keeps memory busy while it waits.
   */
  callerByToken(token: string, credentials = token, hasLongBody = false): AuthResult | Promise<AuthResult> {
    const hash = hashToken(token);
    const cached = this.#byHash.get(hash);
    const caller = this.#callerIfActive(cached);
    if (cached === undefined || caller === undefined) {
      if (this.#hasFailed) return storeUnavailable;
      return this.#waiting < waitingMax(hasLongBody) ? this.#waitForRead(hash) : tooManyUnknown;
    }
    this.#byCredentials.set(credentials, cached);
    return caller;
  }

  async #waitForRead(hash: string): Promise<AuthResult> {
    this.#waiting++;
    try {
      const read = this.#latestChange.then(() => this.#sharedRead.run(unknownTokenPauseMs));
      await withinTime(read, waitMsMax, "the store");
    } catch (error) {
      // Only a read that takes too long has not reported its failure.
      if (!this.#hasFailed) this.#fail(error);
      return storeUnavailable;
    } finally {
      this.#waiting--;
    }
    return this.#callerIfActive(this.#byHash.get(hash)) ?? unknownToken;
  }

  /**
   * The caller of a token, if it is active. Recording the use is one assignment; the store is not
   * touched.
   */
  #callerIfActive(cached: CachedToken | undefined): Caller | undefined {
    if (cached === undefined) return undefined;
    const now = this.#now();
    if (now >= cached.activeUntil) return undefined;
    cached.usedAt = now;
    return cached.caller;
  }

  /** One at a time, so that an earlier result never replaces a later one. */
  async #readTokens(): Promise<void> {
    try {
      const read = await this.#store.readUnlessVersion(this.#version);
      this.#hasFailed = false;
      if (read === undefined) return;
      const former = this.#byHash;
      this.#byHash = new Map(
        read.tokens.map((record) => [record.hash, toCachedToken(record, former.get(record.hash))]),
      );
      this.#byCredentials.clear();
      this.#version = read.version;
      this.#recordLastUses([...former].filter(([hash]) => !this.#byHash.has(hash)));
    } catch (error) {
      // The store may return as a standby that lacks the latest changes.
      this.#version = undefined;
      this.#fail(error);
      throw error;
    }
  }

  /** Until a read succeeds, unknown tokens are `unavailable` at once. */
  #fail(error: unknown): void {
    this.#hasFailed = true;
    // `start` rejects with the error of the first read.
    if (this.#isStarted) this.#emit({ kind: "tokenReloadFailed", reason: errorMessage(error) });
  }

  #recordOnceAMinute(): void {
    const minute = startOfMinute(this.#now());
    if (minute === this.#recordedMinute) return;
    const from = this.#recordedMinute;
    this.#recordedMinute = minute;
    this.#recording = this.#recordUses(from);
  }

  /** Writes uses since a time. */
  #recordUses(from: number): Promise<void> {
    return this.#writeUses([...this.#byHash].filter(([, { usedAt }]) => usedAt >= from));
  }

  /** Writes the last uses of tokens that were revoked: after a leak somebody asks for them. */
  #recordLastUses(revoked: readonly [string, CachedToken][]): void {
    if (revoked.length > 0) this.#recording = this.#recording.then(() => this.#writeUses(revoked));
  }

  /** Never rejects: the next use of a token is written again. */
  async #writeUses(tokens: readonly [string, CachedToken][]): Promise<void> {
    const uses = tokens
      .filter(([, { usedAt }]) => Number.isFinite(usedAt))
      .map(([hash, { usedAt }]) => ({ hash, minute: startOfMinute(usedAt) }));
    try {
      await this.#store.recordUses(uses, this.#now());
    } catch {
      // Nothing else depends on it.
    }
  }
}

function toCachedToken(record: TokenRecord, former: CachedToken | undefined): CachedToken {
  const { hash, name, creator, scopes } = record;
  return {
    caller: former?.caller ?? { key: hash, name, creator, ...(scopes && { scopes: scopesOf(scopes) }) },
    activeUntil: activeUntil(record),
    usedAt: former?.usedAt ?? Number.NEGATIVE_INFINITY,
  };
}

function startOfMinute(timestamp: number): number {
  return Math.floor(timestamp / minuteMs) * minuteMs;
}
