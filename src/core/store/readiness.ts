// Readiness: whether the store can commit now. A probe is a commit of its own, so commits of creates are used where they
// suffice.

import type { Clock } from "../observability/server-event.ts";
import { errorMessage } from "../operator-error.ts";
import type { FinishedBatch } from "./group-commit.ts";
import type { PlantStore } from "./plant-store.ts";

/** The time after a successful commit during which the store counts as ready. */
const commitAgeMsMax = 1_000;

/** The pause between two probes of a store that cannot commit. */
const probePauseMs = 100;

/** A lane that cannot commit, with the reason. */
export interface LaneFailure {
  readonly lane: string;
  readonly reason: string;
}

type ProbedStore = Pick<PlantStore, "assertWritable" | "lanes">;
type Pause = (ms: number) => Promise<void>;

export class Readiness {
  readonly #store: ProbedStore;
  readonly #now: Clock;
  readonly #pause: Pause;
  /** By lane; undefined is the whole store. */
  readonly #lanes = new Map<string | undefined, LaneReadiness>();

  constructor(store: ProbedStore, now: Clock, pause: Pause = Bun.sleep) {
    this.#store = store;
    this.#now = now;
    this.#pause = pause;
  }

  /** Updates the readiness by the outcomes of a batch of creates. */
  update({ outcomes, lane }: FinishedBatch): void {
    this.#readinessOf(lane).update(outcomes);
  }

  /**
   * Rejects with the reason if the store cannot commit now. Queries the store only if no commit has succeeded in the last
   * second, or one has failed since; concurrent calls share one probe. A store with lanes is ready while one of them can
   * commit; resolves with the others.
   */
  async assertReady(): Promise<readonly LaneFailure[]> {
    const lanes = this.#store.lanes?.names();
    if (lanes === undefined) {
      await this.#readinessOf(undefined).assertReady();
      return [];
    }
    for (const lane of this.#lanes.keys())
      if (lane === undefined || !lanes.includes(lane)) this.#lanes.delete(lane);
    const failures = (await Promise.all(lanes.map((lane) => this.#failureOf(lane)))).filter(
      (failure) => failure !== undefined,
    );
    if (failures.length === lanes.length)
      throw new Error(failures.map(({ lane, reason }) => `${lane}: ${reason}`).join("; "));
    return failures;
  }

  async #failureOf(lane: string): Promise<LaneFailure | undefined> {
    const downReason = this.#store.lanes?.downReason(lane);
    if (downReason !== undefined) return { lane, reason: downReason };
    try {
      await this.#readinessOf(lane).assertReady();
      return undefined;
    } catch (error) {
      return { lane, reason: errorMessage(error) };
    }
  }

  #readinessOf(lane: string | undefined): LaneReadiness {
    let readiness = this.#lanes.get(lane);
    if (readiness === undefined) {
      readiness = new LaneReadiness(() => this.#store.assertWritable(lane), this.#now, this.#pause);
      this.#lanes.set(lane, readiness);
    }
    return readiness;
  }
}

/** The readiness of one lane, or of a store without lanes. */
class LaneReadiness {
  readonly #assertWritable: () => Promise<void>;
  readonly #now: Clock;
  readonly #pause: Pause;
  #lastCommitAt = Number.NEGATIVE_INFINITY;
  #lastProbeEndAt = Number.NEGATIVE_INFINITY;
  /**
   * Only a probe that starts after a failure and succeeds clears it, and not a create: a store may accept creates and reject
   * the probe, or accept some creates only. The first probe has yet to be made, as if after a failure.
   */
  #failures = 1;
  #failuresCleared = 0;
  #probe: Promise<void> | undefined;

  constructor(assertWritable: () => Promise<void>, now: Clock, pause: Pause) {
    this.#assertWritable = assertWritable;
    this.#now = now;
    this.#pause = pause;
  }

  update(outcomes: FinishedBatch["outcomes"]): void {
    if (outcomes === undefined || outcomes.includes("unavailable")) this.#failures++;
    // A batch of `unchanged` and `conflict` alone has written nothing.
    else if (outcomes.includes("created")) this.#lastCommitAt = this.#now();
  }

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
      await this.#assertWritable();
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
