// The console's calls that show, build and drop the optional indexes.

import { CoalescedWork } from "../core/admin/throttling.ts";
import { errorMessage } from "../core/operator-error.ts";
import {
  type IndexName,
  type IndexProgress,
  type IndexStates,
  indexNames,
  type PlantIndexes,
  type PlantReader,
} from "../core/store/plant-reader.ts";
import { BadRequestError, respondError, respondJson } from "./responses.ts";

const changes = ["create", "drop"] as const;

interface RunningChange {
  readonly name: IndexName;
  readonly change: (typeof changes)[number];
  readonly startedAt: number;
  progress: IndexProgress | undefined;
}

export interface IndexesDependencies {
  readonly indexes: PlantIndexes;
  /** Returns the states while a change is running, too. */
  readonly reader: () => Promise<PlantReader>;
  /** The number of plants as far as it is known: changes take longer in a larger store. */
  readonly plants: () => number | undefined;
  readonly now: () => number;
}

export class Indexes {
  readonly #dependencies: IndexesDependencies;
  readonly #states: CoalescedWork<IndexStates>;
  #running: RunningChange | undefined;
  /** The message of the last change, if it failed. */
  #failure: string | undefined;

  constructor(dependencies: IndexesDependencies) {
    this.#dependencies = dependencies;
    this.#states = new CoalescedWork(async () => (await dependencies.reader()).indexStates());
  }

  async states(): Promise<Response> {
    const states = await this.#states.run();
    return respondJson({
      states,
      changing: this.#running === undefined ? null : this.#changing(this.#running),
      failure: this.#failure ?? null,
      plants: this.#dependencies.plants() ?? null,
    });
  }

  /** Starts a change and does not wait for it: building an index of a large store takes longer than a request may. */
  change(requested: { name: string; change: string }): Response {
    const name = indexNames.find((one) => one === requested.name);
    const change = changes.find((one) => one === requested.change);
    if (name === undefined || change === undefined)
      throw new BadRequestError("There is no such index, or no such change.");
    if (this.#running !== undefined)
      return respondError(409, "Another index is being built or dropped; wait until that is done.");
    const { indexes, now } = this.#dependencies;
    const running: RunningChange = { name, change, startedAt: now(), progress: undefined };
    this.#running = running;
    this.#failure = undefined;
    const changed =
      change === "drop"
        ? indexes.drop(name)
        : indexes.create(name, (progress) => {
            running.progress = progress;
          });
    void changed
      .catch((error) => {
        this.#failure = errorMessage(error);
      })
      .then(() => {
        this.#running = undefined;
      });
    return respondJson({}, 202);
  }

  #changing({ name, change, startedAt, progress }: RunningChange) {
    const seconds = Math.round((this.#dependencies.now() - startedAt) / 1_000);
    return { name, change, seconds, share: progress?.share ?? null, phase: progress?.phase ?? null };
  }
}
