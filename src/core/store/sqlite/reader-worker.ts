// The worker that reads plants on a read-only connection of its own: a slow search delays neither a commit nor the
// network.

import type { PlantReader } from "../plant-reader.ts";
import { databaseReader } from "./database-reader.ts";
import { Database } from "./driver.ts";
import { readError } from "./errors.ts";
import { indexStates } from "./indexes.ts";
import { serveCalls } from "./worker-rpc.ts";

/** The object that the worker serves to the main thread. */
export interface ReaderWorker {
  readonly reader: PlantReader & { open(path: string): Promise<void> };
}

let opened: Database | undefined;

serveCalls<ReaderWorker>(
  {
    reader: {
      ...databaseReader(database),
      async open(path) {
        const database = new Database(path, { readonly: true, strict: true, safeIntegers: true });
        // SQLite opens the WAL with the first statement: later there may be no descriptor for it.
        indexStates(database);
        opened = database;
      },
      close: async () => database().close(true),
    },
  },
  readError,
);

function database(): Database {
  if (opened === undefined) throw new Error("The reader was called before it was opened");
  return opened;
}
