// The optional indexes, as the console shows, makes and drops them.

import {
  type IndexName,
  type IndexStates,
  indexNames,
  type PlantIndexes,
  type PlantReader,
} from "../../store/plant-reader.ts";
import { SharedRun } from "../shared-work.ts";
import { BadRequest, json, refuse } from "./responses.ts";

interface Change {
  readonly name: IndexName;
  readonly change: "create" | "drop";
}

export class Indexes {
  readonly #indexes: PlantIndexes;
  readonly #states: SharedRun<IndexStates>;
  #changing: Change | undefined;
  #failure: string | undefined;

  /** @param reader asked for the states, as it answers also while a change goes on. */
  constructor(indexes: PlantIndexes, reader: () => Promise<PlantReader>) {
    this.#indexes = indexes;
    this.#states = new SharedRun(async () => (await reader()).indexStates());
  }

  async states(): Promise<Response> {
    const states = await this.#states.run();
    return json({ states, changing: this.#changing ?? null, failure: this.#failure ?? null });
  }

  /** Begins a change, and does not wait for it: an index of a large store takes longer than a request may. */
  change(asked: { name: string; change: string }): Response {
    const name = indexNames.find((one) => one === asked.name);
    const change = (["create", "drop"] as const).find((one) => one === asked.change);
    if (name === undefined || change === undefined)
      throw new BadRequest("There is no such index, or no such change.");
    if (this.#changing !== undefined)
      return refuse(409, "Another change of an index goes on; wait for its end.");
    this.#changing = { name, change };
    this.#failure = undefined;
    void this.#indexes[change](name)
      .catch((error) => {
        this.#failure = error instanceof Error ? error.message : String(error);
      })
      .then(() => {
        this.#changing = undefined;
      });
    return json({}, 202);
  }
}
