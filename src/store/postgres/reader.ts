// Reads plants of a PostgreSQL store on connections of its own, so that it uses none of those of the batches.

import type { NewPlant } from "../../contract/plant.ts";
import type { IndexStates, PlantReader, PlantSummary, Search, SearchResult } from "../plant-reader.ts";
import { searchPlants } from "../plant-search.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { rejectForOperator } from "./errors.ts";
import { PostgresPlantQueries } from "./plant-queries.ts";
import { PostgresPlants } from "./plants.ts";
import { Primary } from "./primary.ts";

/** The pool has one more, see Primary. */
const connectionsMax = 1;

export class PostgresReader implements PlantReader {
  readonly #primary: Primary;
  readonly #queries: PostgresPlantQueries;
  readonly #plants: PostgresPlants;

  /** Connects at the first call. */
  constructor(url: PostgresUrl) {
    this.#primary = new Primary({ ...url, connectionsMax });
    this.#queries = new PostgresPlantQueries(this.#primary);
    this.#plants = new PostgresPlants(this.#primary, () => undefined);
  }

  search(search: Search): Promise<SearchResult> {
    return searchPlants(this.#queries, search, () => performance.now()).catch(rejectForOperator);
  }

  withIds(ids: readonly bigint[]): Promise<PlantSummary[]> {
    return this.#queries.withIds(ids).catch(rejectForOperator);
  }

  get(id: bigint): Promise<NewPlant | undefined> {
    return this.#plants.get(id);
  }

  indexStates(): Promise<IndexStates> {
    return this.#queries.states().catch(rejectForOperator);
  }

  close(): Promise<void> {
    return this.#primary.close();
  }
}
