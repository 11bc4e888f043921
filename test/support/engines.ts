// The test matrix: one line for each engine. Suites that hold on every engine loop over it.

import type { ContractSource } from "../../src/contract/contract.ts";
import { sharedCitus } from "./citus.ts";
import { sharedPostgres } from "./postgres.ts";
import { createStore, TemporaryFolder } from "./server.ts";

/** The address of a store that a test has for itself, until it goes out of scope. */
interface TestStore extends AsyncDisposable {
  /** As --database takes it. There is no store yet: a server creates it, or createStore. */
  readonly database: string;
}

interface TestEngine {
  readonly name: string;
  /** As its stores name it. */
  readonly engine: string;
  /** @param contract of what a test creates in it; the Plant Store's if there is none. */
  readonly createTestStore: (contract?: ContractSource) => Promise<TestStore>;
}

/** The variable with the name of the one engine to test, which run-tests.ts sets. */
export const engineVariable = "PLANTSTORE_TEST_ENGINE";
const only = process.env[engineVariable];

const everywhere: readonly TestEngine[] = [
  { name: "sqlite", engine: "sqlite", createTestStore: createSqliteStore },
  { name: "postgres", engine: "postgres", createTestStore: createPostgresStore },
];

/** Only on request: its suites take as long as those of all other engines, and need citus.so. */
const citus: TestEngine = { name: "citus", engine: "postgres", createTestStore: createCitusStore };

export const engines: readonly TestEngine[] =
  only === undefined ? everywhere : [...everywhere, citus].filter(({ name }) => name === only);

/** A new file. */
async function createSqliteStore(): Promise<TestStore> {
  const folder = new TemporaryFolder();
  return {
    database: `sqlite:${folder.file("plants.db")}`,
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
    },
  };
}

/** On a busy machine a read waits longer for a connection than the two seconds that servers allow. */
const patient = "connect_timeout=60&statement_timeout=60";

/**
 * An empty database on the shared server. It is not dropped, which makes a checkpoint of 0.4 s: the
 * data folder of the server is removed after the run.
 */
async function createPostgresStore(): Promise<TestStore> {
  const server = await sharedPostgres();
  const { address } = await server.newDatabase();
  return { database: `${address}?${patient}`, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** An empty store that is distributed over the workers of the cluster that the tests share. */
async function createCitusStore(contract?: ContractSource): Promise<TestStore> {
  const cluster = await sharedCitus();
  const { name, address } = await cluster.newDatabase();
  const database = `${address}?${patient}`;
  await createStore(database, contract);
  await cluster.distribute(name);
  return { database, [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose]() };
}
