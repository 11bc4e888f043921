// Reads plants of a PostgreSQL store, on connections of its own: those of the batches are theirs.

import type { NewPlant } from "../../contract/plant.ts";
import type { Found, IndexStates, PlantReader, Search, ShownPlant } from "../plant-reader.ts";
import { searchPlants } from "../plant-search.ts";
import type { PostgresAddress } from "./address.ts";
import { rejectForOperator } from "./failures.ts";
import { PostgresPlantRows } from "./plant-rows.ts";
import { PostgresPlants } from "./plants.ts";
import { Primary } from "./primary.ts";

/** And one more, see Primary. */
const connectionsMax = 1;

export class PostgresReader implements PlantReader {
  readonly #primary: Primary;
  readonly #rows: PostgresPlantRows;
  readonly #plants: PostgresPlants;

  /** Connects when it is first asked. */
  constructor(address: PostgresAddress) {
    this.#primary = new Primary({ ...address, connectionsMax });
    this.#rows = new PostgresPlantRows(this.#primary);
    this.#plants = new PostgresPlants(this.#primary, () => undefined);
  }

  search(search: Search): Promise<Found> {
    return searchPlants(this.#rows, search, () => performance.now()).catch(rejectForOperator);
  }

  withIds(ids: readonly bigint[]): Promise<ShownPlant[]> {
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
