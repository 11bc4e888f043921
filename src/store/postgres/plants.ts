// The plants table, and what becomes of a batch where the database fails.

import type { NewPlant } from "../../contract/plant.ts";
import { compareWithStored, type OnUnavailable, type Outcome } from "../plant-store.ts";
import { commitUnlocked, LockedIds, select, selectDurable } from "./batch.ts";
import type { Pool } from "./driver.ts";
import { failureOf, reasonOf, rejectForOperator } from "./error-classes.ts";
import type { Primary } from "./primary.ts";

export class PostgresPlants {
  readonly #primary: Primary;
  readonly #observe: OnUnavailable;
  readonly #locked = new LockedIds();

  constructor(primary: Primary, observe: OnUnavailable) {
    this.#primary = primary;
    this.#observe = observe;
  }

  /** Commits a batch; where the rows are at fault, each plant in one of its own. See PlantStore.create. */
  async create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    try {
      return await this.#primary.withRetry((pool) => this.#commit(pool, batch));
    } catch (error) {
      const failure = failureOf(error);
      if (failure === "fault") throw error;
      this.#observe(reasonOf(error));
      if (failure === "lost" || failure === "again") return batch.map(() => "unavailable");
      return this.#commitEach(batch, failure === "alone" && batch.length > 1);
    }
  }

  async get(id: bigint): Promise<NewPlant | undefined> {
    return (await this.#primary.withRetry((pool) => select(pool, [id])).catch(rejectForOperator)).plants.get(
      id,
    );
  }

  async #commit(pool: Pool, batch: readonly NewPlant[]): Promise<Outcome[]> {
    const outcomes = await commitUnlocked(pool, batch, this.#locked);
    if (outcomes.includes("unavailable")) this.#observe("other transactions hold plants with the same ids");
    return outcomes;
  }

  /** Replays and conflicts have their answer without a write, and one row's fault is not its neighbours'. */
  async #commitEach(batch: readonly NewPlant[], mayWrite: boolean): Promise<Outcome[]> {
    try {
      const stored = await this.#primary.once((pool) => selectDurable(pool, batch));
      const outcomes: Outcome[] = [];
      for (const plant of batch) {
        const there = stored.get(plant.id);
        if (there !== undefined) outcomes.push(compareWithStored(there, plant));
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
      const [outcome = "unavailable"] = await this.#primary.once((pool) => this.#commit(pool, [plant]));
      return outcome;
    } catch (error) {
      if (failureOf(error) !== "alone") throw error;
      this.#observe(reasonOf(error));
      return "unavailable";
    }
  }
}
