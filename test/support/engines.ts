// The test matrix: one line for each engine. Suites that hold on every engine loop over it.

import { sharedPostgres } from "./postgres.ts";
import { TemporaryFolder } from "./server.ts";

/** The address of a store that a test has for itself, until it goes out of scope. */
interface TestStore extends AsyncDisposable {
  /** As --database takes it. There is no store yet: a server creates it, or createStore. */
  readonly database: string;
}

interface TestEngine {
  readonly name: string;
  readonly createTestStore: () => Promise<TestStore>;
}

export const engines: readonly TestEngine[] = [
  { name: "sqlite", createTestStore: createSqliteStore },
  { name: "postgres", createTestStore: createPostgresStore },
];

async function createSqliteStore(): Promise<TestStore> {
  const folder = new TemporaryFolder();
  return {
    database: `sqlite:${folder.file("plants.db")}`,
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
    },
  };
}

/**
 * An empty database on the server that the tests share. It is not dropped: that makes a checkpoint, which takes 0.4 s, and
 * the data folder of the server is removed after the run.
 */
async function createPostgresStore(): Promise<TestStore> {
  const server = await sharedPostgres();
  const { address } = await server.newDatabase();
  return { database: address, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}
