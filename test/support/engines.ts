// The test matrix: one line for each engine. Suites that hold on every engine loop over it.

import { sharedPostgres } from "./postgres.ts";
import { TemporaryFolder } from "./server.ts";

/** The address of a store that a test has for itself, removed when it goes out of scope. */
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

/** An empty database on the server that the tests share. */
async function createPostgresStore(): Promise<TestStore> {
  const server = await sharedPostgres();
  const { name, address } = await server.newDatabase();
  return {
    database: address,
    async [Symbol.asyncDispose]() {
      await server.query("postgres", `DROP DATABASE ${name} WITH (FORCE)`);
      await server[Symbol.asyncDispose]();
    },
  };
}
