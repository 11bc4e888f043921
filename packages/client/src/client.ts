// The client: creates, lists and deletes plants, with retries.

import { attempt } from "./attempt.ts";
import { type Call, createCall, deleteCall, listCall } from "./calls.ts";
import type { NewPlant, Plant, PlantPage } from "./new-plant.ts";
import { type PlantStoreClientOptions, parseOptions, type Settings } from "./options.ts";
import { delay, isRetryable, retryDelayMs } from "./retry.ts";

export interface CallOptions {
  /** Aborts the call, also during a backoff, with its reason. It may have had its effect. */
  readonly signal?: AbortSignal | undefined;
}

export interface ListOptions extends CallOptions {
  /** At most this many plants, from 1 to 1,000. Default: 100. */
  readonly limit?: number | undefined;
  /** Only plants with a greater id, such as `next` of the page before. */
  readonly after?: bigint | number | undefined;
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
  async createPlant(plant: NewPlant, options: CallOptions = {}): Promise<Plant> {
    return await this.#call(createCall(plant), options);
  }

  /**
   * Lists a page of plants in the order of their ids, if the server offers that. Rejects as
   * createPlant does.
   */
  async list({ limit, after, ...options }: ListOptions = {}): Promise<PlantPage> {
    return await this.#call(listCall(limit, after), options);
  }

  /**
   * Deletes a plant, if the server offers that, and resolves when that is on its stable storage,
   * and also if there is no such plant. Rejects as createPlant does.
   */
  async delete(id: bigint | number, options: CallOptions = {}): Promise<void> {
    await this.#call(deleteCall(id), options);
  }

  async #call<Result extends object>(call: Call<Result>, { signal }: CallOptions): Promise<Result> {
    const { timeoutMs, attemptTimeoutMs, maxRetries } = this.#settings;
    const deadline = performance.now() + timeoutMs;
    for (let attempts = 1; ; attempts++) {
      const attemptMs = Math.min(attemptTimeoutMs, deadline - performance.now());
      const result = await attempt(call, attemptMs, signal, this.#settings);
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
