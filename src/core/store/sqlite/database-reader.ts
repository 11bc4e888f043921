// Reads plants on one connection, in the thread that has it.

import type { PlantReader } from "../plant-reader.ts";
import { countCreatedSince, findSummaries, searchPlants } from "../plant-search.ts";
import type { Database } from "./driver.ts";
import { indexStates, recordsCreations } from "./indexes.ts";
import { SqlitePlantQueries } from "./plant-queries.ts";

/** A reader of the database that `current` returns, which may be another one for each call. Every call blocks the thread. */
export function databaseReader(current: () => Database): Omit<PlantReader, "close"> {
  const queries = () => new SqlitePlantQueries(current());
  const indexStatesNow = async () => indexStates(current());
  return {
    search: (search) => searchPlants(queries(), indexStatesNow, search, () => performance.now()),
    withIds: (ids) => findSummaries(queries(), ids),
    get: async (id) => queries().get(id),
    creations: async (ids) => queries().creations(ids),
    createdSince: async (times) =>
      recordsCreations(current()) ? countCreatedSince(queries(), times) : undefined,
    countPart: async (afterId, plantsMax) => queries().countPart(afterId, plantsMax),
    indexStates: indexStatesNow,
  };
}
