// Readiness: whether the store can commit now. A probe is a commit of its own, so commits of
// creates are used where they suffice.

import type { Clock } from "../observability/server-event.ts";
import type { Outcome, PlantStore } from "./plant-store.ts";

/** How long a successful commit shows that the store is ready. */
const commitAgeMsMax = 1_000;

/** The pause between two probes of a store that cannot commit. */
const probePauseMs = 100;

export class Readiness {
  readonly #store: Pick<PlantStore, "assertWritable">;
  readonly #now: Clock;
  readonly #pause: (ms: number) => Promise<void>;
  #lastCommitAt = Number.NEGATIVE_INFINITY;
  #lastProbeEndAt = Number.NEGATIVE_INFINITY;
  /**
   * Only a probe that starts after a failure clears it: a store may accept some creates and reject
   * the probe. Starts at 1, because the first probe has yet to be made.
   */
  #failures = 1;
  #failuresCleared = 0;
  #probe: Promise<void> | undefined;

  constructor(
    store: Pick<PlantStore, "assertWritable">,
    now: Clock,
    pause: (ms: number) => Promise<void> = Bun.sleep,
  ) {
    this.#store = store;
    this.#now = now;
    this.#pause = pause;
  }

  /** Updates the readiness by the outcomes of a batch; undefined after an exception. */
  update(outcomes: readonly Outcome[] | undefined): void {
    if (outcomes === undefined || outcomes.includes("unavailable")) this.#failures++;
    // A batch of `unchanged` and `conflict` alone has written nothing.
    else if (outcomes.includes("created")) this.#lastCommitAt = this.#now();
  }

  /**
   * Rejects with the reason if the store cannot commit now. Queries the store only if no commit has
   * succeeded in the last second, or one has failed since; concurrent calls share one probe.
   */
  async assertReady(): Promise<void> {
    if (this.#failures === this.#failuresCleared && this.#now() - this.#lastCommitAt < commitAgeMsMax) return;
    this.#probe ??= this.#probeOnce().finally(() => {
      this.#probe = undefined;
    });
    await this.#probe;
  }

  async #probeOnce(): Promise<void> {
    const backoffMs = this.#lastProbeEndAt + probePauseMs - this.#now();
    if (backoffMs > 0) await this.#pause(backoffMs);
    const failures = this.#failures;
    try {
      await this.#store.assertWritable();
      this.#failuresCleared = failures;
      this.#lastCommitAt = this.#now();
    } catch (error) {
      this.#failures++;
      throw error;
    } finally {
      this.#lastProbeEndAt = this.#now();
    }
  }
}
