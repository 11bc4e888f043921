// The console's calls that show, build and drop the optional indexes.

import { errorMessage } from "../../operator-error.ts";
import {
  type IndexName,
  type IndexStates,
  indexNames,
  type PlantIndexes,
  type PlantReader,
} from "../../store/plant-reader.ts";
import { BadRequestError, respondError, respondJson } from "../responses.ts";
import { CoalescedWork } from "../throttling.ts";

const changes = ["create", "drop"] as const;

interface RunningChange {
  readonly name: IndexName;
  readonly change: (typeof changes)[number];
}

export class Indexes {
  readonly #indexes: PlantIndexes;
  readonly #states: CoalescedWork<IndexStates>;
  #running: RunningChange | undefined;
  /** The message of the last change, if it failed. */
  #failure: string | undefined;

  /** @param reader returns the states while a change is running, too. */
  constructor(indexes: PlantIndexes, reader: () => Promise<PlantReader>) {
    this.#indexes = indexes;
    this.#states = new CoalescedWork(async () => (await reader()).indexStates());
  }

  async states(): Promise<Response> {
    const states = await this.#states.run();
    return respondJson({ states, changing: this.#running ?? null, failure: this.#failure ?? null });
  }

  /** Starts a change and does not wait for it: building an index of a large store takes longer than a request may. */
  change(requested: { name: string; change: string }): Response {
    const name = indexNames.find((one) => one === requested.name);
    const change = changes.find((one) => one === requested.change);
    if (name === undefined || change === undefined)
      throw new BadRequestError("There is no such index, or no such change.");
    if (this.#running !== undefined)
      return respondError(409, "Another index is being built or dropped; wait until that is done.");
    this.#running = { name, change };
    this.#failure = undefined;
    void this.#indexes[change](name)
      .catch((error) => {
        this.#failure = errorMessage(error);
      })
      .then(() => {
        this.#running = undefined;
      });
    return respondJson({}, 202);
  }
}
