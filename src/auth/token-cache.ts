// The tokens that a running server accepts, in memory, and how it learns of new and revoked ones.

import {
  endedTokenRetentionMs,
  type TokenRecord,
  type TokenStore,
  type TokenUse,
} from "../store/token-store.ts";
import { type KnownToken, minuteOf, newlyKnown, useToRecord } from "./last-used.ts";
import { hashToken, isActive } from "./token.ts";

/** How long a change made elsewhere may go unnoticed; the promise is 2 seconds. */
const pollEveryMs = 1_000;

/** An unknown token asks the store at once, so that a new one works at once; but not more often than this. */
const pollPauseMs = 50;

/**
 * All tokens are read this often as well, for changes without a revision: those of a server of an earlier version, and
 * SQL by hand. Where that takes long it is done less often, so that it takes a thousandth of the time at most.
 */
const reloadEveryMs = 60_000;
const reloadShareMax = 0.001;

/** Uses, and tokens that may have to be removed, that a call has at most: plants are committed between calls. */
const usesPerCall = 1_000;
const removalRowsMax = 500;
const removalPauseMs = 100;

/** Uses of tokens that have ended meanwhile, which wait until the store can take them. */
const endedUsesMax = 10_000;

const dayMs = 86_400_000;

/** The record of an accepted token, undefined for any other, `unavailable` if nobody can tell. */
type Accepted = TokenRecord | undefined | "unavailable";

/** Handles an error of something that no request waited for. */
export type OnTokenCacheError = (
  trouble: "tokenReloadFailed" | "lastUsedWriteFailed" | "tokenRemovalFailed",
  error: unknown,
) => void;

export class TokenCache {
  readonly #store: TokenStore;
  readonly #now: () => number;
  readonly #observe: OnTokenCacheError;
  /** Only tokens that are accepted, or were when the store was read last. */
  #byHash = new Map<string, KnownToken>();
  readonly #endedUses = new Map<string, TokenUse>();
  /** Undefined where all tokens must be read next. */
  #revision: number | undefined;
  #reloadDueAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;
  #stopping = false;
  #recording: Promise<void> = Promise.resolve();
  #recordedMinute: number;
  #removing: Promise<void> = Promise.resolve();
  #removedDay: number | undefined;
  #polling: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  /** What the next poll is to look up. */
  #unknownHashes = new Set<string>();
  #lastPollEnd = Number.NEGATIVE_INFINITY;

  constructor(store: TokenStore, now: () => number, observe: OnTokenCacheError) {
    this.#store = store;
    this.#now = now;
    this.#observe = observe;
    this.#recordedMinute = minuteOf(now());
  }

  /** Reads the tokens, and keeps reading what changes. Rejects if they cannot be read. */
  async start(): Promise<void> {
    await this.#poll();
    this.#timer = setInterval(() => {
      this.#pollSoon().then(
        () => {
          this.#recordOnceAMinute();
          this.#removeOnceADay();
        },
        (error) => this.#observe("tokenReloadFailed", error),
      );
    }, pollEveryMs);
  }

  /** Stops reading, and stores which tokens were used last; resolves when nothing is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping = true;
    // Side by side: a store that hangs is waited for once.
    await Promise.allSettled([
      this.#polling,
      this.#next,
      this.#recording,
      this.#removing,
      this.#recordUses(),
    ]);
  }

  /**
   * The record of a token if it is accepted now. A token that is not known is looked up in the store first, which
   * takes some milliseconds; `unavailable` if the store cannot be asked.
   */
  lookup(token: string): Accepted | Promise<Accepted> {
    const hash = hashToken(token);
    const known = this.#byHash.get(hash);
    return known === undefined ? this.#askStore(hash) : this.#judge(known);
  }

  async #askStore(hash: string): Promise<Accepted> {
    this.#unknownHashes.add(hash);
    try {
      await this.#pollSoon();
    } catch (error) {
      this.#observe("tokenReloadFailed", error);
      return "unavailable";
    }
    return this.#judge(this.#byHash.get(hash));
  }

  #judge(known: KnownToken | undefined): TokenRecord | undefined {
    const now = this.#now();
    if (known === undefined || !isActive(known.record, now)) return undefined;
    known.usedAt = now;
    return known.record;
  }

  #recordOnceAMinute(): void {
    const minute = minuteOf(this.#now());
    if (this.#stopping || minute === this.#recordedMinute) return;
    this.#recordedMinute = minute;
    this.#forgetEnded();
    this.#recording = this.#recordUses();
  }

  /** Never rejects: what could not be stored is tried again in the next minute. */
  async #recordUses(): Promise<void> {
    const uses = [...this.#endedUses.values()];
    for (const known of this.#byHash.values()) {
      const use = useToRecord(known);
      if (use !== undefined) uses.push(use);
    }
    try {
      for (let at = 0; at < uses.length; at += usesPerCall) {
        const some = uses.slice(at, at + usesPerCall);
        await this.#store.recordUses(some);
        for (const use of some) {
          // Unless it was used later, and has ended, meanwhile.
          if (this.#endedUses.get(use.hash) === use) this.#endedUses.delete(use.hash);
          const known = this.#byHash.get(use.hash);
          if (known !== undefined) known.recordedMinute = use.minute;
        }
      }
    } catch (error) {
      this.#observe("lastUsedWriteFailed", error);
    }
  }

  #removeOnceADay(): void {
    const day = Math.floor(this.#now() / dayMs);
    if (this.#stopping || day === this.#removedDay) return;
    this.#removedDay = day;
    this.#removing = this.#removeEnded();
  }

  /** Never rejects: what could not be removed is tried again on the next day. */
  async #removeEnded(): Promise<void> {
    const endedBefore = Math.min(this.#now(), this.#latestActivity()) - endedTokenRetentionMs;
    try {
      for (let afterHash: string | undefined = ""; afterHash !== undefined && !this.#stopping; ) {
        const { nextHash } = await this.#store.removeEnded({
          endedBefore,
          afterHash,
          rowsMax: removalRowsMax,
        });
        afterHash = nextHash;
        if (afterHash !== undefined) await Bun.sleep(removalPauseMs);
      }
    } catch (error) {
      this.#observe("tokenRemovalFailed", error);
    }
  }

  /**
   * When a token in force was last created or used. A clock that is set years ahead must not remove tokens that have
   * not ended, and in a store that nobody uses nothing accumulates.
   */
  #latestActivity(): number {
    let latest = Number.NEGATIVE_INFINITY;
    for (const { record } of this.#byHash.values())
      latest = Math.max(latest, record.createdAt, record.lastUsedAt ?? 0);
    return latest;
  }

  /** A poll that starts after this call; one poll serves all who ask while it has not started. */
  #pollSoon(): Promise<void> {
    this.#next ??= this.#polling
      .catch(() => undefined)
      .then(() => Bun.sleep(Math.max(0, this.#lastPollEnd + pollPauseMs - performance.now())))
      .then(() => this.#poll());
    return this.#next;
  }

  /** One at a time, so that what was read earlier never replaces what was read later. */
  #poll(): Promise<void> {
    this.#next = undefined;
    const unknownHashes = this.#unknownHashes;
    this.#unknownHashes = new Set();
    this.#polling = this.#read(unknownHashes)
      .catch((error) => {
        // The store may come back as a standby that has not seen the latest changes.
        this.#revision = undefined;
        throw error;
      })
      .finally(() => {
        this.#lastPollEnd = performance.now();
      });
    return this.#polling;
  }

  async #read(unknownHashes: ReadonlySet<string>): Promise<void> {
    if (this.#revision === undefined || performance.now() >= this.#reloadDueAt) await this.#reload();
    else await this.#readChanges(this.#revision);
    // Not in what has changed: one that had ended by a clock which was set back since.
    const unknown = [...unknownHashes].filter((hash) => !this.#byHash.has(hash));
    if (unknown.length > 0) this.#update(await this.#store.find(unknown));
  }

  async #readChanges(since: number): Promise<void> {
    const { revision, tokens } = await this.#store.readChanges(since);
    if (revision < since) return this.#reload();
    this.#update(tokens);
    this.#revision = revision;
  }

  async #reload(): Promise<void> {
    const startedAt = performance.now();
    const { revision, tokens } = await this.#store.readActive(this.#now());
    const before = this.#byHash;
    this.#byHash = new Map();
    this.#update(tokens, before);
    for (const [hash, known] of before) if (!this.#byHash.has(hash)) this.#keepUse(known);
    this.#revision = revision;
    const endedAt = performance.now();
    this.#reloadDueAt = endedAt + Math.max(reloadEveryMs, (endedAt - startedAt) / reloadShareMax);
  }

  /** Remembers the tokens that are accepted, and forgets the others. */
  #update(records: readonly TokenRecord[], before: ReadonlyMap<string, KnownToken> = this.#byHash): void {
    const now = this.#now();
    for (const record of records) {
      const known = before.get(record.hash);
      if (!isActive(record, now)) this.#forget(record.hash);
      else if (known === undefined) this.#byHash.set(record.hash, newlyKnown(record));
      else {
        known.record = record;
        this.#byHash.set(record.hash, known);
      }
    }
  }

  #forgetEnded(): void {
    const now = this.#now();
    for (const [hash, { record }] of this.#byHash) if (!isActive(record, now)) this.#forget(hash);
  }

  #forget(hash: string): void {
    const known = this.#byHash.get(hash);
    if (known === undefined) return;
    this.#keepUse(known);
    this.#byHash.delete(hash);
  }

  /** The last use of a token that has ended is stored all the same. */
  #keepUse(known: KnownToken): void {
    const use = useToRecord(known);
    if (use !== undefined && this.#endedUses.size < endedUsesMax) this.#endedUses.set(use.hash, use);
  }
}
