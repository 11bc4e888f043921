// The migration that takes over what the optional index "newest" of earlier versions recorded;
// test/system/restart/upgrade.test.ts has its result on every engine.

import { expect, test } from "bun:test";
import { Client } from "pg";
import { runWork } from "../../../../../src/core/store/postgres/sql-work.ts";
import { takeOverArrivals } from "../../../../../src/core/store/sql-migrations.ts";
import { sharedPostgres } from "../../../../support/postgres.ts";

test("takes seconds for many plants, also before PostgreSQL has statistics of them", async () => {
  await using server = await sharedPostgres();
  const { address } = await server.newDatabase();
  const client = new Client({ connectionString: address });
  await client.connect();
  try {
    // In one transaction, so that autovacuum cannot analyze the tables.
    await client.query(`
      BEGIN;
      SET LOCAL statement_timeout = '15s';
      CREATE TABLE creators (id integer PRIMARY KEY, name text NOT NULL UNIQUE);
      INSERT INTO creators VALUES (7, 'ci');
      CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, created_at bigint, creator integer);
      INSERT INTO plants SELECT n, 'Fern' FROM generate_series(1, 40000) n;
      CREATE TABLE plant_arrivals (position bigint PRIMARY KEY, id bigint NOT NULL, created_at bigint, token text);
      CREATE INDEX plant_arrivals_by_id ON plant_arrivals (id);
      INSERT INTO plant_arrivals SELECT n, n, n, 'ci' FROM generate_series(1, 40000) n;
      INSERT INTO plant_arrivals VALUES (40001, 1, 50000, 'ci')`);
    await runWork(client, takeOverArrivals());
    const { rows } = await client.query(
      "SELECT count(*)::int, sum(created_at)::int FROM plants WHERE creator = 7",
    );
    expect(rows).toEqual([{ count: 40_000, sum: 800_020_000 - 1 + 50_000 }]);
  } finally {
    await client.end();
  }
});
