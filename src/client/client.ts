// The client: creates a plant, trying again where that may help.

import { PlantStoreAnswerError, PlantStoreError } from "./errors.ts";
import { type PlantStoreClientOptions, type Settings, settingsOf } from "./options.ts";
import { pause, pauseMsOf } from "./pause.ts";
import { type NewPlant, newPlantText, type Plant } from "./plant.ts";
import { type TryFailure, tryOnce } from "./try.ts";

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
   * Rejects with a PlantStoreError if the server refuses the plant, a PlantStoreAnswerError if the answer is not the
   * contract's, a PlantStoreNetworkError or PlantStoreTimeoutError if there is none; with a TypeError, and nothing is
   * sent, for an id that is neither a bigint nor a safe integer; with the reason of the signal; with what onRetry throws.
   */
  async createPlant(plant: NewPlant, { signal }: CreatePlantOptions = {}): Promise<Plant> {
    const { deadlineMs, tryMsMax, retriesMax } = this.#settings;
    const body = newPlantText(plant);
    const deadline = performance.now() + deadlineMs;
    for (let tries = 1; ; tries++) {
      const tryMs = Math.min(tryMsMax, deadline - performance.now());
      const outcome = await tryOnce(body, tryMs, signal, this.#settings);
      if (!(outcome instanceof Error)) return outcome;
      if (!mayPass(outcome) || tries > retriesMax) throw outcome;

      const pauseMs = pauseMsOf(tries, retryAfterMsOf(outcome), this.#settings);
      if (performance.now() + pauseMs >= deadline) throw outcome;
      this.#settings.onRetry({ attempt: tries, error: outcome, delayMs: pauseMs });
      await pause(pauseMs, signal);
    }
  }
}

/** A body that was too slow; over the rate; a gateway that could not reach the server; unavailable; a gateway that waited in vain. */
const passingStatuses: readonly number[] = [408, 429, 502, 503, 504];

/** Whether the same plant may be accepted a little later: after any network fault, and by what the status says. */
function mayPass(failure: TryFailure): boolean {
  const answered = failure instanceof PlantStoreError || failure instanceof PlantStoreAnswerError;
  return !answered || passingStatuses.includes(failure.status);
}

function retryAfterMsOf(failure: TryFailure): number | undefined {
  return "retryAfterMs" in failure ? failure.retryAfterMs : undefined;
}
