// The worker that reads plants on a read-only connection of its own: a slow search delays neither a commit nor the
// network.

import { OperatorError } from "../../operator-error.ts";
import type { PlantReader } from "../plant-reader.ts";
import { countCreatedSince, findSummaries, searchPlants } from "../plant-search.ts";
import { Database, SQLiteError } from "./driver.ts";
import { indexStates, recordsCreations } from "./indexes.ts";
import { SqlitePlantQueries } from "./plant-queries.ts";
import { serveCalls } from "./worker-rpc.ts";

/** The object that the worker serves to the main thread. */
export interface ReaderWorker {
  readonly reader: PlantReader & { open(path: string): Promise<void> };
}

let opened: { database: Database; queries: SqlitePlantQueries } | undefined;

const states = async () => indexStates(store().database);

serveCalls<ReaderWorker>(
  {
    reader: {
      async open(path) {
        const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
        // SQLite opens the WAL with the first statement: later there may be no descriptor for it.
        indexStates(database);
        opened = { database, queries: new SqlitePlantQueries(database) };
      },
      search: (search) => searchPlants(store().queries, states, search, () => performance.now()),
      withIds: (ids) => findSummaries(store().queries, ids),
      get: async (id) => store().queries.get(id),
      creations: async (ids) => (recordsCreations(store().database) ? store().queries.creations(ids) : []),
      createdSince: async (times) =>
        recordsCreations(store().database) ? countCreatedSince(store().queries, times) : undefined,
      countPart: async (afterId, plantsMax) => store().queries.countPart(afterId, plantsMax),
      indexStates: states,
      close: async () => store().database.close(true),
    },
  },
  (error) =>
    error instanceof SQLiteError ? new OperatorError(`the store cannot be read: ${error.message}`) : error,
);

function store() {
  if (opened === undefined) throw new Error("The reader was called before it was opened");
  return opened;
}
