// The test matrix: one line an engine. Suites that hold on every engine loop over it.

import { TemporaryFolder } from "./server.ts";

/** A place for one store of an engine, removed when it goes out of scope. */
interface StorePlace extends AsyncDisposable {
  /** As --database takes it. */
  readonly database: string;
}

interface TestEngine {
  readonly name: string;
  readonly newPlace: () => Promise<StorePlace>;
}

export const engines: readonly TestEngine[] = [{ name: "sqlite", newPlace: sqlitePlace }];

async function sqlitePlace(): Promise<StorePlace> {
  const folder = new TemporaryFolder();
  return {
    database: `sqlite:${folder.file("plants.db")}`,
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
    },
  };
}
