// The tokens that a running server accepts: a cache that polls the store for changes, and writes
// back when each token was last used.

import { CoalescedWork } from "../coalesced-work.ts";
import { invalidToken, unavailable } from "../contract/errors.ts";
import type { Emit } from "../observability/server-event.ts";
import { errorMessage } from "../operator-error.ts";
import type { TokenStore } from "../store/sql-tokens.ts";
import { endedTokenRetentionMs, type TokenRecord } from "../store/token-store.ts";
import { withinTime } from "../time-limit.ts";
import type { AuthResult, Caller } from "./caller.ts";
import { activeUntil, hashToken, isActive } from "./token.ts";

/** The interval between polls. Changes are promised to take effect within 2 seconds. */
const defaultPollIntervalMs = 1_000;

/** By the wall clock: after a longer freeze or suspension a poll comes before the next token. */
const pollAgeMsMax = 2_000;

/** How long a request waits for that poll. */
const pollWaitMsMax = 5_000;

/** An unknown token polls the store, so that a new one works at once, but at this pause. */
const pollPauseMs = 50;

/**
 * All tokens are reloaded at this interval, for changes without a revision (SQL by hand). A slow
 * reload is repeated less often: it takes at most a thousandth of the time.
 */
const reloadIntervalMs = 60_000;
const reloadShareMax = 0.001;

/** The rows that one call to the store handles: plants are committed between calls. */
const usesPerCall = 1_000;
const removalRowsMax = 500;
const removalPauseMs = 100;

/** Credentials that are remembered: one for each client that this server is likely to have. */
const credentialsMax = 1_024;

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** The result for a token that is not in the store, or not active. */
export const unknownToken = invalidToken(
  "it is unknown, malformed, revoked or expired. Ask the operator for a new one.",
);
export const storeUnavailable = unavailable("The store is unreachable, so the token cannot be verified");

interface CachedToken {
  readonly caller: Caller;
  record: TokenRecord;
  /** Milliseconds since the epoch; from then on the token is not accepted. */
  activeUntil: number;
  /** When this server last accepted it, in milliseconds since the epoch; -Infinity if never. */
  usedAt: number;
  /** The latest minute of use that is in the store for certain; -Infinity if there is none. */
  recordedMinute: number;
}

export class TokenCache {
  readonly #store: TokenStore;
  readonly #now: () => number;
  readonly #emit: Emit;
  /** The active tokens, and those that have ended until their last use is in the store. */
  readonly #byHash = new Map<string, CachedToken>();
  /**
   * Tokens by the Authorization fields that they were sent in: looking one up takes 0.1 µs, parsing
   * and hashing 0.6. Emptied whenever a token leaves #byHash.
   */
  readonly #byCredentials = new Map<string, CachedToken>();
  readonly #polls = new CoalescedWork(() => this.#poll());
  /** The store's revision at the last poll. */
  #revision = 0;
  #mustReload = true;
  #reloadDueAt = Number.NEGATIVE_INFINITY;
  readonly #pollIntervalMs: number;
  #timer: Timer | undefined;
  #isStopping = false;
  #recording: Promise<void> = Promise.resolve();
  #recordedMinute: number;
  #removing: Promise<void> = Promise.resolve();
  #removedDay: number | undefined;
  /** The hashes that the next poll looks up. */
  #unknownHashes = new Set<string>();
  /** When the last successful poll began, by #now. */
  #polledAt = Number.NEGATIVE_INFINITY;

  /** @param now milliseconds since the epoch */
  constructor(store: TokenStore, now: () => number, emit: Emit, pollIntervalMs = defaultPollIntervalMs) {
    this.#pollIntervalMs = pollIntervalMs;
    this.#store = store;
    this.#now = now;
    this.#emit = emit;
    this.#recordedMinute = startOfMinute(now());
  }

  /** Loads the tokens, and polls for changes until `stop`. Rejects if they cannot be loaded. */
  async start(): Promise<void> {
    await this.#polls.run(pollPauseMs);
    this.#timer = setInterval(() => {
      this.#polls.run(pollPauseMs).then(
        () => {
          this.#recordOnceAMinute();
          this.#removeOnceADay();
        },
        (error) => this.#emit({ kind: "tokenReloadFailed", reason: errorMessage(error) }),
      );
    }, this.#pollIntervalMs);
  }

  /** Stops polling, and writes the last uses; resolves when no call to the store is running. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStopping = true;
    // In parallel, so that a store that hangs is waited for once.
    await Promise.all([this.#polls.settled(), this.#recording, this.#removing, this.#recordUses()]);
  }

  /** Reads all tokens again: a change is effective when it resolves. Rejects if it cannot. */
  reload(): Promise<void> {
    this.#mustReload = true;
    return this.#polls.run(0);
  }

  /** The caller of an active token that was looked up with these credentials before. */
  recall(credentials: string): Caller | undefined {
    return this.#isStale() ? undefined : this.#use(this.#byCredentials.get(credentials));
  }

  /**
   * The caller of an active token, else `unknownToken`; `unavailable` if the store is unreachable.
   * Returns a promise only if no active token is cached or the cache is stale: then it polls the
   * store.
   *
   * @param credentials the Authorization field that the token was sent in, for `recall`.
   */
  lookup(token: string, credentials = token): Caller | Promise<AuthResult> {
    const hash = hashToken(token);
    const cached = this.#byHash.get(hash);
    const caller = this.#isStale() ? undefined : this.#use(cached);
    if (cached === undefined || caller === undefined) return this.#lookupInStore(hash);
    if (this.#byCredentials.size === credentialsMax) this.#byCredentials.clear();
    this.#byCredentials.set(credentials, cached);
    return caller;
  }

  async #lookupInStore(hash: string): Promise<AuthResult> {
    this.#unknownHashes.add(hash);
    try {
      await withinTime(this.#polls.run(pollPauseMs), pollWaitMsMax, "the store");
    } catch (error) {
      this.#emit({ kind: "tokenReloadFailed", reason: errorMessage(error) });
      return storeUnavailable;
    }
    return this.#use(this.#byHash.get(hash)) ?? unknownToken;
  }

  /** Whether a change may have been missed. Setting the clock costs one extra poll. */
  #isStale(): boolean {
    return Math.abs(this.#now() - this.#polledAt) > pollAgeMsMax;
  }

  /** The caller of an active token. Recording a use is one assignment; the store is not touched. */
  #use(cached: CachedToken | undefined): Caller | undefined {
    const now = this.#now();
    if (cached === undefined || now >= cached.activeUntil) return undefined;
    cached.usedAt = now;
    return cached.caller;
  }

  #recordOnceAMinute(): void {
    const minute = startOfMinute(this.#now());
    if (this.#isStopping || minute === this.#recordedMinute) return;
    this.#recordedMinute = minute;
    this.#recording = this.#recordUses();
  }

  /** Never rejects: uses that could not be written are written in the next minute. */
  async #recordUses(): Promise<void> {
    const uses = [...this.#byHash.values()]
      .filter(isUnrecorded)
      .map(({ record: { hash }, usedAt }) => ({ hash, minute: startOfMinute(usedAt) }));
    try {
      for (let at = 0; at < uses.length; at += usesPerCall) {
        const recorded = uses.slice(at, at + usesPerCall);
        await this.#store.recordUses(recorded);
        for (const { hash, minute } of recorded) {
          const cached = this.#byHash.get(hash);
          if (cached !== undefined) cached.recordedMinute = minute;
        }
      }
    } catch (error) {
      this.#emit({ kind: "lastUsedWriteFailed", reason: errorMessage(error) });
    }
    this.#forgetEnded();
  }

  /** Tokens that have ended leave the cache, unless their last use is not in the store yet. */
  #forgetEnded(): void {
    const now = this.#now();
    for (const [hash, cached] of this.#byHash) {
      if (now < cached.activeUntil || isUnrecorded(cached)) continue;
      this.#byHash.delete(hash);
      this.#byCredentials.clear();
    }
  }

  #removeOnceADay(): void {
    const day = Math.floor(this.#now() / dayMs);
    if (this.#isStopping || day === this.#removedDay) return;
    this.#removedDay = day;
    this.#removing = this.#removeEnded();
  }

  /** Never rejects: a removal that failed is repeated on the next day. */
  async #removeEnded(): Promise<void> {
    const endedBefore = Math.min(this.#now(), this.#latestActivity()) - endedTokenRetentionMs;
    try {
      const removeSome = () => this.#store.removeEnded(endedBefore, removalRowsMax);
      while (!this.#isStopping && (await removeSome()) === removalRowsMax) await Bun.sleep(removalPauseMs);
    } catch (error) {
      this.#emit({ kind: "tokenRemovalFailed", reason: errorMessage(error) });
    }
  }

  /** When an active token was last created or used: a clock years ahead removes nothing. */
  #latestActivity(): number {
    let latest = Number.NEGATIVE_INFINITY;
    for (const { record } of this.#byHash.values())
      latest = Math.max(latest, record.createdAt, record.lastUsedAt ?? 0);
    return latest;
  }

  /** One at a time, so that an earlier result never replaces a later one. */
  async #poll(): Promise<void> {
    const startedAt = this.#now();
    const unknownHashes = this.#unknownHashes;
    this.#unknownHashes = new Set();
    const reloads = this.#mustReload || performance.now() >= this.#reloadDueAt;
    this.#mustReload = false;
    try {
      if (reloads || !(await this.#readChanges())) await this.#reload();
      // The clock may have been set back: a token that had ended is not among the changes.
      const now = this.#now();
      const isKnown = (hash: string) => now < (this.#byHash.get(hash)?.activeUntil ?? now);
      const unknown = [...unknownHashes].filter((hash) => !isKnown(hash));
      if (unknown.length > 0) this.#apply(await this.#store.find(unknown));
    } catch (error) {
      // The store may return as a standby that lacks the latest changes.
      this.#mustReload = true;
      throw error;
    }
    this.#polledAt = startedAt;
  }

  /** False if the store has lost changes. */
  async #readChanges(): Promise<boolean> {
    const { revision, tokens } = await this.#store.readChanges(this.#revision);
    if (revision < this.#revision) return false;
    this.#apply(tokens);
    this.#revision = revision;
    return true;
  }

  async #reload(): Promise<void> {
    const startedAt = performance.now();
    const { revision, tokens } = await this.#store.readActive(this.#now());
    for (const cached of this.#byHash.values()) cached.activeUntil = Number.NEGATIVE_INFINITY;
    this.#apply(tokens);
    this.#revision = revision;
    const endedAt = performance.now();
    this.#reloadDueAt = endedAt + Math.max(reloadIntervalMs, (endedAt - startedAt) / reloadShareMax);
  }

  /** Updates the tokens that are cached, and caches the others that are active. */
  #apply(records: readonly TokenRecord[]): void {
    const now = this.#now();
    for (const record of records) {
      const cached = this.#byHash.get(record.hash);
      if (cached !== undefined) {
        cached.record = record;
        cached.activeUntil = activeUntil(record);
      } else if (isActive(record, now)) this.#byHash.set(record.hash, toCachedToken(record));
    }
  }
}

function toCachedToken(record: TokenRecord): CachedToken {
  return {
    caller: { key: record.hash, name: record.name, creator: record.creator },
    record,
    activeUntil: activeUntil(record),
    usedAt: Number.NEGATIVE_INFINITY,
    recordedMinute: record.lastUsedAt ?? Number.NEGATIVE_INFINITY,
  };
}

/** Whether the minute of the last use is later than the one in the store. */
function isUnrecorded({ usedAt, recordedMinute }: CachedToken): boolean {
  return startOfMinute(usedAt) > recordedMinute;
}

function startOfMinute(timestamp: number): number {
  return Math.floor(timestamp / minuteMs) * minuteMs;
}
