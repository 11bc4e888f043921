// The plants table, and what becomes of a batch where the database fails.

import type { NewPlant } from "../../contract/plant.ts";
import { type ObserveUnavailable, type Outcome, outcomeBeside } from "../plant-store.ts";
import { commitUnlocked, LockedIds, select, selectStable } from "./batch.ts";
import type { Pool } from "./driver.ts";
import { failureOf, reasonOf, rejectForOperator } from "./failures.ts";
import type { Primary } from "./primary.ts";

export class PostgresPlants {
  readonly #primary: Primary;
  readonly #observe: ObserveUnavailable;
  readonly #locked = new LockedIds();

  constructor(primary: Primary, observe: ObserveUnavailable) {
    this.#primary = primary;
    this.#observe = observe;
  }

  /** Commits a batch; where the rows are at fault, each plant in one of its own. See PlantStore.create. */
  async create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    try {
      return await this.#primary.run((pool) => this.#commit(pool, batch));
    } catch (error) {
      const failure = failureOf(error);
      if (failure === "fault") throw error;
      this.#observe(reasonOf(error));
      if (failure === "lost" || failure === "again") return batch.map(() => "unavailable");
      return this.#judgeEach(batch, failure === "alone" && batch.length > 1);
    }
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    return (await this.#primary.run((pool) => select(pool, [id])).catch(rejectForOperator)).plants.get(id);
  }

  async #commit(pool: Pool, batch: readonly NewPlant[]): Promise<Outcome[]> {
    const outcomes = await commitUnlocked(pool, batch, this.#locked);
    if (outcomes.includes("unavailable")) this.#observe("other transactions hold plants with the same ids");
    return outcomes;
  }

  /** Replays and conflicts have their answer without a write, and one row's fault is not its neighbours'. */
  async #judgeEach(batch: readonly NewPlant[], mayWrite: boolean): Promise<Outcome[]> {
    try {
      const stored = await this.#primary.runOnce((pool) => selectStable(pool, batch));
      const outcomes: Outcome[] = [];
      for (const plant of batch) {
        const there = stored.get(plant.id);
        if (there !== undefined) outcomes.push(outcomeBeside(there, plant));
        else outcomes.push(mayWrite ? await this.#createAlone(plant) : "unavailable");
      }
      return outcomes;
    } catch (error) {
      if (failureOf(error) === "fault") throw error;
      this.#observe(reasonOf(error));
      return batch.map(() => "unavailable");
    }
  }

  async #createAlone(plant: NewPlant): Promise<Outcome> {
    try {
      const [outcome = "unavailable"] = await this.#primary.runOnce((pool) => this.#commit(pool, [plant]));
      return outcome;
    } catch (error) {
      if (failureOf(error) !== "alone") throw error;
      this.#observe(reasonOf(error));
      return "unavailable";
    }
  }
}
