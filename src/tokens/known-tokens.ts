// The tokens that a running server accepts, in memory, and how it learns of new and revoked ones.

import type { TokenRecord, TokenStore } from "../store/token-store.ts";
import { type KnownToken, minuteOf, usesToRecord } from "./last-used.ts";
import { hashToken, isAccepted } from "./token.ts";

/** How long a change made elsewhere may go unnoticed; the promise is 2 seconds. */
const reloadEveryMs = 1_000;

/** An unknown token asks the store at once, so that a new one works at once; but not more often than this. */
const reloadPauseMs = 50;

/** The record of an accepted token, undefined for any other, `unavailable` if nobody can tell. */
type Accepted = TokenRecord | undefined | "unavailable";

/** Hears of what went wrong while nobody waited for it. */
export type ObserveTokenTrouble = (trouble: "tokensUnreadable" | "tokenUsesUnstored", error: unknown) => void;

export class KnownTokens {
  readonly #store: TokenStore;
  readonly #now: () => number;
  readonly #observe: ObserveTokenTrouble;
  #byHash = new Map<string, KnownToken>();
  #timer: Timer | undefined;
  #stopping = false;
  #recording: Promise<void> = Promise.resolve();
  #recordedMinute: number;
  #loading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #lastLoadEnd = Number.NEGATIVE_INFINITY;

  constructor(store: TokenStore, now: () => number, observe: ObserveTokenTrouble) {
    this.#store = store;
    this.#now = now;
    this.#observe = observe;
    this.#recordedMinute = minuteOf(now());
  }

  /** Reads the tokens, and keeps reading them. Rejects if they cannot be read. */
  async start(): Promise<void> {
    await this.#load();
    this.#timer = setInterval(() => {
      this.#loadSoon().then(
        () => this.#recordOnceAMinute(),
        (error) => this.#observe("tokensUnreadable", error),
      );
    }, reloadEveryMs);
  }

  /** Stops reading, and stores which tokens were used last; resolves when nothing is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping = true;
    // Side by side: a store that hangs is waited for once.
    await Promise.allSettled([this.#loading, this.#next, this.#recording, this.#recordUses()]);
  }

  /**
   * The record of a token if it is accepted now. A token that is not known is looked up in the store first, which
   * takes some milliseconds; `unavailable` if the store cannot be asked.
   */
  accepted(token: string): Accepted | Promise<Accepted> {
    const hash = hashToken(token);
    const known = this.#byHash.get(hash);
    return known === undefined ? this.#askStore(hash) : this.#judge(known);
  }

  async #askStore(hash: string): Promise<Accepted> {
    try {
      await this.#loadSoon();
    } catch (error) {
      this.#observe("tokensUnreadable", error);
      return "unavailable";
    }
    return this.#judge(this.#byHash.get(hash));
  }

  #judge(known: KnownToken | undefined): TokenRecord | undefined {
    const now = this.#now();
    if (known === undefined || !isAccepted(known.record, now)) return undefined;
    known.usedAt = now;
    return known.record;
  }

  /** After a load, which has brought what other servers have recorded already. */
  #recordOnceAMinute(): void {
    const minute = minuteOf(this.#now());
    if (this.#stopping || minute === this.#recordedMinute) return;
    this.#recordedMinute = minute;
    this.#recording = this.#recordUses();
  }

  /** Never rejects: what could not be stored is tried again in the next minute. */
  async #recordUses(): Promise<void> {
    const uses = usesToRecord(this.#byHash.values());
    if (uses.length === 0) return;
    try {
      await this.#store.recordUses(uses);
    } catch (error) {
      this.#observe("tokenUsesUnstored", error);
    }
  }

  /** A load that starts after this call; one load serves all who ask while it has not started. */
  #loadSoon(): Promise<void> {
    this.#next ??= this.#loading
      .catch(() => undefined)
      .then(() => Bun.sleep(Math.max(0, this.#lastLoadEnd + reloadPauseMs - performance.now())))
      .then(() => this.#load());
    return this.#next;
  }

  #load(): Promise<void> {
    this.#next = undefined;
    this.#loading = this.#store
      .list()
      .then((records) => {
        this.#byHash = new Map(records.map((record) => [record.hash, this.#known(record)]));
      })
      .finally(() => {
        this.#lastLoadEnd = performance.now();
      });
    return this.#loading;
  }
  /** The entry of a token with its newest record; kept from load to load, for the use that is noted in it. */
  #known(record: TokenRecord): KnownToken {
    const known = this.#byHash.get(record.hash) ?? { record, usedAt: Number.NEGATIVE_INFINITY };
    known.record = record;
    return known;
  }
}
