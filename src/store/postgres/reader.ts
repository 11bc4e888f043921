// Reads plants of a PostgreSQL store, on connections of its own: those of the batches are theirs.

import type { NewPlant } from "../../contract/plant.ts";
import type { IndexStates, PlantReader, PlantSummary, Search, SearchResult } from "../plant-reader.ts";
import { searchPlants } from "../plant-search.ts";
import type { PostgresUrl } from "./connection-url.ts";
import { rejectForOperator } from "./error-classes.ts";
import { PostgresPlantQueries } from "./plant-queries.ts";
import { PostgresPlants } from "./plants.ts";
import { Primary } from "./primary.ts";

/** And one more, see Primary. */
const connectionsMax = 1;

export class PostgresReader implements PlantReader {
  readonly #primary: Primary;
  readonly #rows: PostgresPlantQueries;
  readonly #plants: PostgresPlants;

  /** Connects when it is first asked. */
  constructor(address: PostgresUrl) {
    this.#primary = new Primary({ ...address, connectionsMax });
    this.#rows = new PostgresPlantQueries(this.#primary);
    this.#plants = new PostgresPlants(this.#primary, () => undefined);
  }

  search(search: Search): Promise<SearchResult> {
    return searchPlants(this.#rows, search, () => performance.now()).catch(rejectForOperator);
  }

  withIds(ids: readonly bigint[]): Promise<PlantSummary[]> {
    return this.#rows.withIds(ids).catch(rejectForOperator);
  }

  get(id: bigint): Promise<NewPlant | undefined> {
    return this.#plants.get(id);
  }

  indexStates(): Promise<IndexStates> {
    return this.#rows.states().catch(rejectForOperator);
  }

  close(): Promise<void> {
    return this.#primary.close();
  }
}
