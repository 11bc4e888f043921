// Single plants are read in the thread that asks for them, unless that takes long.

import { expect, test } from "bun:test";
import { compiler } from "../../../../src/openapi/compiler.ts";
import { plantStoreSource } from "../../../../src/openapi/default-contract.ts";
import { toEntries } from "../../../../src/store/plant-store.ts";
import type { PlantReads } from "../../../../src/store/shared/page.ts";
import { nearReads } from "../../../../src/store/sqlite/near-reads.ts";
import { SqlReader } from "../../../../src/store/sqlite/sql-reader.ts";
import { SqliteStore } from "../../../../src/store/sqlite/store.ts";
import { plant, plantStore } from "../../../support/contracts.ts";
import { TemporaryFolder } from "../../../support/server.ts";
import { settled } from "../../../support/settled.ts";
import { unexpected } from "../../../support/stored-plants.ts";

const count = 40;
const ids = Array.from({ length: count }, (_, index) => BigInt(count - index));
const urls = ids.map((id) => `/plants/${id}`);

test("plants are read near, after slow reads elsewhere, and each is found in its place", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plants.db");
  const choice = { compiler, contract: plantStoreSource };
  await using store = await SqliteStore.open(file, "create", unexpected, choice);
  const plants = ids.map((id) => plant({ id, name: `plant ${id}` }));
  await store.create(toEntries(plantStore, plants));
  let [now, msOfRead] = [0, 0];
  /** How many plants each part had that was read. */
  const parts = { near: [] as number[], far: [] as number[] };
  const reader = (place: "near" | "far"): PlantReads => {
    const sql = SqlReader.open(file, plantStore);
    const count = ({ length }: readonly unknown[]) => {
      parts[place].push(length);
      if (place === "near") now += msOfRead;
    };
    return {
      query: sql.query.bind(sql),
      find(query) {
        count(query.ids);
        expect(query.urls).toEqual(query.ids.map((id) => `/plants/${id}`));
        return sql.find(query);
      },
      get(table, part) {
        count(part);
        return sql.get(table, part);
      },
      [Symbol.asyncDispose]: () => sql.close(),
    };
  };
  let opened = 0;
  const openFar = async () => {
    opened++;
    return reader("far");
  };
  await using sql = nearReads(reader("near"), openFar, () => now);
  /** Reads all plants after a time, each part near taking another: the parts that were read near. */
  const nearAfter = async (ms: number, each: number) => {
    [now, msOfRead] = [now + ms, each];
    parts.near = [];
    parts.far = [];
    const found = await sql.find({ table: "plants", ids, urls });
    expect(found.map((one) => one?.json)).toEqual(ids.map((id) => `{"name":"plant ${id}"}`));
    const [near, far] = [parts.near, parts.far].map((all) => all.reduce((sum, length) => sum + length, 0));
    expect([near, far]).toEqual([near, count - (near ?? 0)]);
    return parts.near;
  };

  // The first read is slow of itself.
  msOfRead = 5;
  expect(await sql.get("plants", ids.slice(0, 1))).toHaveLength(1);
  [msOfRead, parts.near] = [1, []];
  // A row that is not there takes no place.
  const some = [99n, ...ids.slice(0, 6)];
  const got = await sql.get("plants", some);
  expect(got.map(({ id }) => id).toSorted()).toEqual([35n, 36n, 37n, 38n, 39n, 40n]);
  expect([parts.near, opened]).toEqual([[1, 2, 4], 0]);
  expect(await nearAfter(0, 1)).toEqual([8, 16, 16]);
  expect(await nearAfter(0, 1)).toEqual([32, 8]);
  expect(opened).toBe(0);
  // The pages of a slow disk.
  expect([await nearAfter(0, 2), await nearAfter(0, 5), await nearAfter(0, 4)]).toEqual([[32], [16], [3]]);
  expect([await nearAfter(0, 2), await nearAfter(999, 2)]).toEqual([[], []]);
  expect([await nearAfter(1, 2), await nearAfter(999, 2)]).toEqual([[1], []]);
  expect(await nearAfter(1, 0)).toEqual([1, 2, 4, 8, 16, 9]);
  expect(opened).toBe(1);
});

test("statements are read elsewhere, by a connection that is opened again after a failure, and closed", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plants.db");
  await using _ = await SqliteStore.open(file, "create", unexpected, {
    compiler,
    contract: plantStoreSource,
  });
  const calls: string[] = [];
  const reader = (place: string): PlantReads => {
    const sql = SqlReader.open(file, plantStore);
    const called = <Call>(name: string, call: Call): Call => {
      calls.push(`${place} ${name}`);
      return call;
    };
    return {
      query: (...call) => called("query", sql).query(...call),
      find: (query) => called("find", sql).find(query),
      get: (...call) => called("get", sql).get(...call),
      [Symbol.asyncDispose]: () => called("close", sql).close(),
    };
  };
  let opened = 0;
  const openFar = async () => {
    if (++opened === 1) throw new Error("too many open files");
    return reader("far");
  };
  const sql = nearReads(reader("near"), openFar, () => 0);
  expect(await settled(sql.query("SELECT 1"))).toThrow("too many open files");
  expect(await sql.query("SELECT 1 AS one")).toEqual([{ one: 1n }]);
  await sql.get("plants", [1n]);
  await sql[Symbol.asyncDispose]();
  expect([calls, opened]).toEqual([["far query", "near get", "near close", "far close"], 2]);
});

test("nothing is opened by a read that comes after the end", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plants.db");
  await using store = await SqliteStore.open(file, "create", unexpected, {
    compiler,
    contract: plantStoreSource,
  });
  let now = 0;
  const openFar = () => Promise.reject(new Error("a connection was opened"));
  const sql = nearReads(SqlReader.open(file, store.contract), openFar, () => (now += 2));
  // They are slow, so that the next ones are read elsewhere.
  for (let reads = 0; reads < 2; reads++) expect(await sql.get("plants", [1n])).toEqual([]);
  await sql[Symbol.asyncDispose]();
  const reads = await Promise.allSettled([sql.query("SELECT 1"), sql.get("plants", [1n, 2n])]);
  const reason = expect.objectContaining({ message: "the connection to the store was closed; try again" });
  for (const each of reads) expect(each).toEqual({ status: "rejected", reason });
});
