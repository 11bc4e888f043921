// Reads plants of a PostgreSQL store on connections of its own, so that it uses none of those of the batches.

import type { NewPlant } from "../../contract/plant.ts";
import type { IndexStates, PlantReader, PlantSummary, Search, SearchResult } from "../plant-reader.ts";
import { findSummaries, searchPlants } from "../plant-search.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { rejectForOperator } from "./errors.ts";
import { PostgresIndexes } from "./indexes.ts";
import { PostgresPlantQueries } from "./plant-queries.ts";
import { PostgresPlants } from "./plants.ts";
import { Primary } from "./primary.ts";

/** The pool has one more, see Primary. */
const connectionsMax = 1;

export class PostgresReader implements PlantReader {
  readonly #primary: Primary;
  readonly #indexes: PostgresIndexes;
  readonly #queries: PostgresPlantQueries;
  readonly #plants: PostgresPlants;

  /** Connects at the first call. */
  constructor(url: PostgresUrl) {
    this.#primary = new Primary({ ...url, connectionsMax });
    this.#indexes = new PostgresIndexes(this.#primary);
    this.#queries = new PostgresPlantQueries(this.#primary);
    this.#plants = new PostgresPlants(this.#primary, () => undefined);
  }

  search(search: Search): Promise<SearchResult> {
    const states = () => this.indexStates();
    return searchPlants(this.#queries, states, search, () => performance.now()).catch(rejectForOperator);
  }

  withIds(ids: readonly bigint[]): Promise<PlantSummary[]> {
    return findSummaries(this.#queries, ids).catch(rejectForOperator);
  }

  get(id: bigint): Promise<NewPlant | undefined> {
    return this.#plants.get(id);
  }

  indexStates(): Promise<IndexStates> {
    return this.#indexes.states();
  }

  close(): Promise<void> {
    return this.#primary.close();
  }
}
