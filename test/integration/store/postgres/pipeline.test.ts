// Statements that are sent together: one transaction, whatever fails in it.

import { afterAll, expect, test } from "bun:test";
import { parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";
import { Primary } from "../../../../src/store/postgres/primary.ts";
import { findPlants, type StoredPlant } from "../../../../src/store/shared/plant-rows.ts";
import { plantStore, values } from "../../../support/contracts.ts";
import { eventually } from "../../../support/eventually.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { settled } from "../../../support/settled.ts";
import { changed, changeOf, editOne, openedStore, storePlants } from "../../../support/stored-plants.ts";

const server = await sharedPostgres();
afterAll(() => server[Symbol.asyncDispose]());

test("statements up to the one that fails are undone, and what they have prepared can be used", async () => {
  const { address } = await server.newDatabase();
  const primary = new Primary({
    ...parsePostgresUrl(address.replace("postgres:", "")),
    connectionsMax: 1,
    isPipelined: true,
  });
  await using _ = { [Symbol.asyncDispose]: () => primary.close() };
  const together = (...statements: { text: string; name?: string; values?: unknown[] }[]) =>
    primary.once((pool) => pool.together(statements));
  await together({ text: "CREATE TABLE numbers (number bigint)" });
  const insert = { name: "insert", text: "INSERT INTO numbers VALUES ($1)" };
  const select = { name: "select", text: "SELECT number, number IS NULL AS missing FROM numbers" };
  const failing = together(
    { ...insert, values: [1n] },
    { ...insert, values: ["none"] },
    { name: "later", text: "SELECT 1 AS one" },
  );
  expect(await settled(failing)).toThrow("invalid input syntax");
  const failsAgain = together({ name: "later", text: "SELECT 1 AS one" }, { name: "wrong", text: "SELEC" });
  expect(await settled(failsAgain)).toThrow("syntax error");
  for (let round = 0; round < 2; round++) {
    const rows = await together(
      { ...insert, values: [2n ** 62n + BigInt(round)] },
      { text: "" },
      { name: "later", text: "SELECT 1 AS one" },
      { ...insert, values: [null] },
      { ...select },
      { text: "DELETE FROM numbers WHERE number IS NULL" },
    );
    expect(rows.map(({ length }) => length)).toEqual([0, 0, 1, 0, 2 + round, 0]);
    expect(rows[2]).toEqual([{ one: 1 }]);
    expect(rows[4]?.at(-1)).toEqual({ number: null, missing: true });
    expect(rows[4]?.at(-2)).toEqual({ number: String(2n ** 62n + BigInt(round)), missing: false });
  }
});

test("a transaction that a statement of somebody's own begins ends with it", async () => {
  const { name, address } = await server.newDatabase();
  await using store = await openedStore(address);
  await using sql = await store.openSql();
  await sql.query("BEGIN");
  const open = `SELECT pid FROM pg_stat_activity WHERE datname = '${name}' AND state = 'idle in transaction'`;
  expect(await server.query("postgres", open)).toEqual([]);
  expect(await settled(sql.query("DELETE FROM plants"))).toThrow("read-only transaction");
});

test("plans that were made for a small table read and edit a large one by its keys", async () => {
  const { name, address } = await server.newDatabase();
  await storePlants(address, [{ id: 1n, name: "Ficus" }]);
  await server.query(name, "ALTER TABLE plants SET (autovacuum_enabled = false)");
  // A table that was never counted is planned for as one of ten pages, which are read by keys anyway.
  await server.query(name, "ANALYZE plants");
  const url = "http://localhost/plants";
  const list = { table: "plants", conditions: [], terms: [], offset: 0, size: 3, bytesMax: 10_000, url };
  {
    await using store = await openedStore(address);
    await using sql = await store.openSql();
    let plant = (await findPlants(plantStore, sql, [1n])).get(1n) as StoredPlant;
    const readAndEdit = async () => {
      await sql.find({ table: "plants", ids: [1n, 2n, 3n], urls: [] });
      await sql.page({ ...list, after: undefined }, 1_000);
      await sql.page({ ...list, after: { values: [], id: 0n } }, 1_000);
      const change = changeOf(plant, values({ name: `${plant.values[0]}.` }));
      expect(await editOne(store, change)).toBe("done");
      plant = changed(change);
    };
    // PostgreSQL settles for a plan that it keeps with the sixth.
    for (let count = 0; count < 8; count++) await readAndEdit();
    await server.query(
      name,
      "INSERT INTO plants (id, name, created_at) SELECT n, 'Aloe', 1 FROM generate_series(2, 50_000) AS n",
    );
    for (let count = 0; count < 20; count++) await readAndEdit();
  }
  // What a connection has scanned is counted for certain once it has ended.
  const { rows } = await eventually(
    "the scans are counted",
    async () => {
      const sql =
        "SELECT (seq_scan + idx_scan)::int AS scans, seq_tup_read::int AS rows FROM pg_stat_user_tables WHERE relname = 'plants'";
      return (await server.query(name, sql))[0] as { scans: number; rows: number };
    },
    ({ scans }) => scans >= 28 * 4,
  );
  expect(rows).toBeLessThan(1_000);
});
