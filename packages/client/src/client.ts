// The client: creates a plant, with retries.

import { attempt } from "./attempt.ts";
import { type PlantStoreClientOptions, parseOptions, type Settings } from "./options.ts";
import { type NewPlant, newPlantJson, type Plant } from "./plant.ts";
import { delay, isRetryable, retryDelayMs } from "./retry.ts";

export interface CreatePlantOptions {
  /** Aborts the create, also during a backoff, with its reason. The plant may have been stored. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A client of one Plant Store, which any number of callers can share; there is nothing to close.
 */
export class PlantStoreClient {
  readonly #settings: Settings;

  /** Throws a TypeError for invalid options. Does not connect. */
  constructor(options: PlantStoreClientOptions) {
    this.#settings = parseOptions(options);
  }

  /**
   * Creates a plant, and resolves when it is on the server's stable storage. Creating is
   * idempotent, so attempts without a response are retried.
   *
   * @throws PlantStoreError if the server rejects the plant.
   * @throws PlantStoreInvalidResponseError if the response is not the Plant Store's.
   * @throws PlantStoreNetworkError or PlantStoreTimeoutError if there is no response.
   * @throws TypeError, before anything is sent, for an id that is neither a bigint nor a safe
   * integer.
   * @throws the reason of the signal, or the error of onRetry or of the token function.
   */
  async createPlant(plant: NewPlant, { signal }: CreatePlantOptions = {}): Promise<Plant> {
    const { timeoutMs, attemptTimeoutMs, maxRetries } = this.#settings;
    const body = newPlantJson(plant);
    const deadline = performance.now() + timeoutMs;
    for (let attempts = 1; ; attempts++) {
      const attemptMs = Math.min(attemptTimeoutMs, deadline - performance.now());
      const result = await attempt(body, attemptMs, signal, this.#settings);
      if (!(result instanceof Error)) return result;
      if (!isRetryable(result) || attempts > maxRetries) throw result;

      const retryAfterMs = "retryAfterMs" in result ? result.retryAfterMs : undefined;
      const delayMs = retryDelayMs(attempts, retryAfterMs, this.#settings);
      if (performance.now() + delayMs >= deadline) throw result;
      this.#settings.onRetry({ attempt: attempts, error: result, delayMs });
      await delay(delayMs, signal);
      // Timers and onRetry may take longer.
      if (performance.now() >= deadline) throw result;
    }
  }
}
