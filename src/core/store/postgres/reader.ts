// Reads plants of a PostgreSQL store on connections of its own, so that it uses none of those of the batches.

import type { NewPlant } from "../../contract/plant.ts";
import type {
  CountedPart,
  Creation,
  IndexStates,
  PlantReader,
  PlantSummary,
  Search,
  SearchResult,
} from "../plant-reader.ts";
import { countCreatedSince, findSummaries, searchPlants } from "../plant-search.ts";
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

  async creations(ids: readonly bigint[]): Promise<Creation[]> {
    return this.#queries.creations(ids).catch(rejectForOperator);
  }

  async createdSince(times: readonly number[]): Promise<number[] | undefined> {
    if (!(await this.#recordsCreations())) return undefined;
    return countCreatedSince(this.#queries, times).catch(rejectForOperator);
  }

  countPart(afterId: bigint | undefined, plantsMax: number): Promise<CountedPart> {
    return this.#queries.countPart(afterId, plantsMax).catch(rejectForOperator);
  }

  async #recordsCreations(): Promise<boolean> {
    return (await this.indexStates()).newest === "ready";
  }

  indexStates(): Promise<IndexStates> {
    return this.#indexes.states();
  }

  close(): Promise<void> {
    return this.#primary.close();
  }
}
