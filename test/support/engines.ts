// The test matrix: one line an engine. Suites that hold on every engine loop over it.

import { Client } from "pg";
import { PostgresServer } from "./postgres.ts";
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

export const engines: readonly TestEngine[] = [
  { name: "sqlite", newPlace: sqlitePlace },
  { name: "postgres", newPlace: postgresPlace },
];

async function sqlitePlace(): Promise<StorePlace> {
  const folder = new TemporaryFolder();
  return {
    database: `sqlite:${folder.file("plants.db")}`,
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]();
    },
  };
}

/**
 * An empty database, on a server of its own; or on the one that PLANTSTORE_TEST_POSTGRES names, an address such
 * as postgres://postgres@localhost:5432 whose user may create databases.
 */
async function postgresPlace(): Promise<StorePlace> {
  const given = process.env.PLANTSTORE_TEST_POSTGRES?.replace(/\/$/, "");
  if (given === undefined) {
    const server = await PostgresServer.start();
    const { address } = await server.newDatabase();
    return { database: address, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
  }
  const name = `plantstore_test_${crypto.randomUUID().replaceAll("-", "")}`;
  await administer(given, `CREATE DATABASE ${name}`);
  return {
    database: `${given}/${name}`,
    [Symbol.asyncDispose]: () => administer(given, `DROP DATABASE ${name}`),
  };
}

async function administer(address: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: `${address}/postgres` });
  await client.connect();
  await client.query(sql);
  await client.end();
}
