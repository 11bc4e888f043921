// The tokens that a running server accepts, in memory, and how it learns of new and revoked ones.

import type { TokenRecord, TokenStore } from "../store/token-store.ts";
import { hashToken, isAccepted } from "./token.ts";

/** How long a change made elsewhere may go unnoticed; the promise is 2 seconds. */
const reloadEveryMs = 1_000;

/** An unknown token asks the store at once, so that a new one works at once; but not more often than this. */
const reloadPauseMs = 50;

/** The record of an accepted token, undefined for any other, `unavailable` if nobody can tell. */
type Accepted = TokenRecord | undefined | "unavailable";

export class KnownTokens {
  readonly #store: TokenStore;
  readonly #now: () => number;
  readonly #observeFailure: (error: unknown) => void;
  #byHash = new Map<string, TokenRecord>();
  #timer: Timer | undefined;
  #loading: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;
  #lastLoadEnd = Number.NEGATIVE_INFINITY;

  constructor(store: TokenStore, now: () => number, observeFailure: (error: unknown) => void) {
    this.#store = store;
    this.#now = now;
    this.#observeFailure = observeFailure;
  }

  /** Reads the tokens, and keeps reading them. Rejects if they cannot be read. */
  async start(): Promise<void> {
    await this.#load();
    this.#timer = setInterval(() => {
      this.#loadSoon().catch(this.#observeFailure);
    }, reloadEveryMs);
  }

  /** Stops reading; resolves when nothing is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.allSettled([this.#loading, this.#next]);
  }

  /**
   * The record of a token if it is accepted now. A token that is not known is looked up in the store first, which
   * takes some milliseconds; `unavailable` if the store cannot be asked.
   */
  accepted(token: string): Accepted | Promise<Accepted> {
    const hash = hashToken(token);
    return this.#byHash.has(hash) ? this.#acceptedByHash(hash) : this.#askStore(hash);
  }

  async #askStore(hash: string): Promise<Accepted> {
    try {
      await this.#loadSoon();
    } catch (error) {
      this.#observeFailure(error);
      return "unavailable";
    }
    return this.#acceptedByHash(hash);
  }

  #acceptedByHash(hash: string): TokenRecord | undefined {
    const record = this.#byHash.get(hash);
    return record !== undefined && isAccepted(record, this.#now()) ? record : undefined;
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
        this.#byHash = new Map(records.map((record) => [record.hash, record]));
      })
      .finally(() => {
        this.#lastLoadEnd = performance.now();
      });
    return this.#loading;
  }
}
