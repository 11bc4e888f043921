// The thread that reads plants for an operator on a connection of its own, which can write nothing: a slow search holds
// up neither a commit nor the network.

import { OperatorError } from "../../operator-error.ts";
import { searchPlants } from "../plant-search.ts";
import { Database, SQLiteError } from "./driver.ts";
import { indexStates } from "./indexes.ts";
import { SqlitePlantQueries } from "./plant-queries.ts";
import type { ReaderCalls } from "./reader.ts";
import { serveCalls } from "./worker-rpc.ts";

let opened: { database: Database; rows: SqlitePlantQueries } | undefined;

serveCalls<ReaderCalls>(
  {
    open: async (path) => {
      const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
      opened = { database, rows: new SqlitePlantQueries(database) };
    },
    search: (search) => searchPlants(store().rows, search, () => performance.now()),
    withIds: async (ids) => store().rows.withIds(ids),
    get: async (id) => store().rows.get(id),
    indexStates: async () => indexStates(store().database),
    close: async () => store().database.close(true),
  },
  (error) =>
    error instanceof SQLiteError ? new OperatorError(`the store cannot be read: ${error.message}`) : error,
);

function store() {
  if (opened === undefined) throw new Error("The reader was called before it was opened");
  return opened;
}
