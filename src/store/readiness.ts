// Whether the store can commit now, asked of the engine as rarely as the answer allows: a probe is a commit of its own.

import type { Clock } from "../observability/server-event.ts";
import type { Outcome, PlantStore } from "./plant-store.ts";

/** A commit counts as evidence for this long after it succeeded. */
const evidenceMsMax = 1_000;

/** The pause between two probes, so that a store that cannot commit is not probed without end. */
const probePauseMs = 100;

export class Readiness {
  readonly #store: Pick<PlantStore, "create" | "assertWritable">;
  readonly #now: Clock;
  readonly #pause: (ms: number) => Promise<void>;
  #lastCommitAt = Number.NEGATIVE_INFINITY;
  #lastProbeEndAt = Number.NEGATIVE_INFINITY;
  /** Until a probe succeeds after it, a failure stands: a store may take creates and refuse the probe, or some creates alone. */
  #failures = 1;
  #failuresRefuted = 0;
  #probe: Promise<void> | undefined;

  constructor(
    store: Pick<PlantStore, "create" | "assertWritable">,
    now: Clock,
    pause: (ms: number) => Promise<void> = Bun.sleep,
  ) {
    this.#store = store;
    this.#now = now;
    this.#pause = pause;
  }

  /** Commits a batch, see PlantStore, whose outcome is evidence. */
  async create(...[batch]: Parameters<PlantStore["create"]>): Promise<Outcome[]> {
    try {
      const outcomes = await this.#store.create(batch);
      if (outcomes.includes("unavailable")) this.#failures++;
      // A batch of replays and conflicts alone has written nothing.
      else if (outcomes.includes("created")) this.#lastCommitAt = this.#now();
      return outcomes;
    } catch (error) {
      this.#failures++;
      throw error;
    }
  }

  /**
   * Rejects with the reason if the store cannot commit now. A commit that succeeded within the last second is an answer,
   * unless one has failed since; else one probe answers all who ask until it ends.
   */
  async assertReady(): Promise<void> {
    if (this.#failures === this.#failuresRefuted && this.#now() - this.#lastCommitAt < evidenceMsMax) return;
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
      this.#failuresRefuted = failures;
      this.#lastCommitAt = this.#now();
    } catch (error) {
      this.#failures++;
      throw error;
    } finally {
      this.#lastProbeEndAt = this.#now();
    }
  }
}
