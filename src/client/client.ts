// The client: creates a plant, trying again where that may help.

import { type AttemptFailure, attempt } from "./attempt.ts";
import { backoffMsFor, pause } from "./backoff.ts";
import { PlantStoreError, PlantStoreInvalidResponseError } from "./errors.ts";
import { type PlantStoreClientOptions, type Settings, settingsOf } from "./options.ts";
import { type NewPlant, newPlantText, type Plant } from "./plant.ts";

export interface CreatePlantOptions {
  /** Ends the create at once, also during a pause; createPlant rejects with its reason. The plant may be stored. */
  readonly signal?: AbortSignal | undefined;
}

/** A client of one Plant Store. It holds no connection, needs no closing, and may be shared by any number of callers. */
export class PlantStoreClient {
  readonly #settings: Settings;

  /** Throws a TypeError for options that cannot be right; connects to nothing. */
  constructor(options: PlantStoreClientOptions) {
    this.#settings = settingsOf(options);
  }

  /**
   * Creates a plant, and resolves with it once it is on the server's stable storage. The same plant again changes
   * nothing and resolves as well, so tries that got no answer are repeated.
   *
   * Rejects with a PlantStoreError if the server refuses the plant, a PlantStoreInvalidResponseError if the answer is not the
   * contract's, a PlantStoreNetworkError or PlantStoreTimeoutError if there is none; with a TypeError, and nothing is
   * sent, for an id that is neither a bigint nor a safe integer; with the reason of the signal; with what onRetry throws.
   */
  async createPlant(plant: NewPlant, { signal }: CreatePlantOptions = {}): Promise<Plant> {
    const { timeoutMs, attemptTimeoutMs, maxRetries } = this.#settings;
    const body = newPlantText(plant);
    const deadline = performance.now() + timeoutMs;
    for (let tries = 1; ; tries++) {
      const tryMs = Math.min(attemptTimeoutMs, deadline - performance.now());
      const outcome = await attempt(body, tryMs, signal, this.#settings);
      if (!(outcome instanceof Error)) return outcome;
      if (!isRetryable(outcome) || tries > maxRetries) throw outcome;

      const backoffMs = backoffMsFor(tries, retryAfterMsOf(outcome), this.#settings);
      if (performance.now() + backoffMs >= deadline) throw outcome;
      this.#settings.onRetry({ attempt: tries, error: outcome, delayMs: backoffMs });
      await pause(backoffMs, signal);
    }
  }
}

/** A body that was too slow; over the rate; a gateway that could not reach the server; unavailable; a gateway that waited in vain. */
const passingStatuses: readonly number[] = [408, 429, 502, 503, 504];

/** Whether the same plant may be accepted a little later: after any network fault, and by what the status says. */
function isRetryable(failure: AttemptFailure): boolean {
  const answered = failure instanceof PlantStoreError || failure instanceof PlantStoreInvalidResponseError;
  return !answered || passingStatuses.includes(failure.status);
}

function retryAfterMsOf(failure: AttemptFailure): number | undefined {
  return "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
}
