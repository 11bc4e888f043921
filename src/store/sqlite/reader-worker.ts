// The worker that reads plants on a read-only connection of its own: a slow search delays neither a commit nor the
// network.

import { OperatorError } from "../../operator-error.ts";
import type { PlantReader } from "../plant-reader.ts";
import { searchPlants } from "../plant-search.ts";
import { Database, SQLiteError } from "./driver.ts";
import { indexStates } from "./indexes.ts";
import { SqlitePlantQueries } from "./plant-queries.ts";
import { serveCalls } from "./worker-rpc.ts";

/** What the worker serves. */
export interface ReaderWorker {
  readonly reader: PlantReader & { open(path: string): Promise<void> };
}

let opened: { database: Database; queries: SqlitePlantQueries } | undefined;

serveCalls<ReaderWorker>(
  {
    reader: {
      async open(path) {
        const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
        opened = { database, queries: new SqlitePlantQueries(database) };
      },
      search: (search) => searchPlants(store().queries, search, () => performance.now()),
      withIds: async (ids) => store().queries.withIds(ids),
      get: async (id) => store().queries.get(id),
      indexStates: async () => indexStates(store().database),
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
