// The keys of an identity provider, fetched again and again; known ones go on while it cannot be reached.

import { setTimeout as sleep } from "node:timers/promises";
import { KeySet } from "./key-set.ts";
import { fetchKeySet, type KeySource } from "./oidc-discovery.ts";

/** A token with an unknown key asks the provider, but for all such tokens together not more often than this. */
const askPauseMs = 5_000;

/** How long a provider that could not be reached is left alone. */
const retryPauseMs = 5_000;

/** How long a fetch may take, discovery included. */
const fetchMsMax = 5_000;

export class JwksCache {
  readonly #source: KeySource;
  readonly #ageMsMax: number;
  readonly #observeFailure: (error: unknown) => void;
  readonly #stopped = new AbortController();
  #current = new KeySet({ keys: [] });
  #currentText = "";
  /** Whether the last fetch failed. Then the timer alone tries again, whoever asks. */
  #isUnreachable = false;
  #fetching: Promise<KeySet | undefined> | undefined;
  #asking: Promise<KeySet | undefined> | undefined;
  #lastAsked = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  /** Fetches the keys anew when they are so old, so that those which the provider has removed end. */
  constructor(source: KeySource, ageMsMax: number, observeFailure: (error: unknown) => void) {
    this.#source = source;
    this.#ageMsMax = ageMsMax;
    this.#observeFailure = observeFailure;
  }

  /** Begins to fetch. It does not wait: a server starts without its provider as well. */
  start(): void {
    void this.#fetch();
  }

  /** Stops fetching; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    await Promise.all([this.#fetching, this.#asking]);
  }

  /** The keys that the provider had when it was last reached; none before that. */
  get current(): KeySet {
    return this.#current;
  }

  /**
   * Keys that were fetched for a token whose key is not among the current ones; undefined if the provider cannot be
   * reached. One fetch serves all who ask while it has not ended.
   */
  async newer(): Promise<KeySet | undefined> {
    if (this.#isUnreachable) return undefined;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<KeySet | undefined> {
    if (this.#fetching !== undefined) return this.#fetching;
    const pause = Math.max(0, this.#lastAsked + askPauseMs - performance.now());
    const hasEnded = await sleep(pause, false, { signal: this.#stopped.signal }).catch(() => true);
    if (hasEnded) return undefined;
    this.#lastAsked = performance.now();
    return this.#fetch();
  }

  #fetch(): Promise<KeySet | undefined> {
    clearTimeout(this.#timer);
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
      if (this.#stopped.signal.aborted) return;
      this.#timer = setTimeout(() => void this.#fetch(), this.#isUnreachable ? retryPauseMs : this.#ageMsMax);
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<KeySet | undefined> {
    try {
      const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(fetchMsMax)]);
      this.#keep(await fetchKeySet(this.#source, signal));
      this.#isUnreachable = false;
      return this.#current;
    } catch (error) {
      this.#isUnreachable = true;
      if (!this.#stopped.signal.aborted) this.#observeFailure(error);
      return undefined;
    }
  }

  /** The same keys stay the same set, with the tokens that were verified. */
  #keep(jwks: unknown): void {
    const text = JSON.stringify(jwks);
    if (text === this.#currentText) return;
    this.#current = new KeySet(jwks);
    this.#currentText = text;
  }
}
