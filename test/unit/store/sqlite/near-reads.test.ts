// Single plants are read in the thread that asks for them, unless that takes long.

import { expect, test } from "bun:test";
import { compiler } from "../../../../src/openapi/compiler.ts";
import { plantStoreSource } from "../../../../src/openapi/default-contract.ts";
import { toEntries } from "../../../../src/store/plant-store.ts";
import type { ReadConnection } from "../../../../src/store/shared/page.ts";
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
  const counts = { near: 0, far: 0 };
  const reader = (place: "near" | "far"): ReadConnection => {
    const sql = SqlReader.open(file, plantStore);
    const { dialect, inTime, callsMax, shortCallsMax } = sql;
    const count = (part: readonly bigint[]) => {
      counts[place] += part.length;
      if (place === "near") now += msOfRead;
    };
    return {
      ...{ dialect, inTime, callsMax, shortCallsMax },
      query: sql.query.bind(sql),
      page: sql.page.bind(sql),
      count: sql.count.bind(sql),
      find(query) {
        count(query.ids as bigint[]);
        expect(query.urls).toEqual(query.ids.map((id) => `/plants/${id}`));
        return sql.find(query);
      },
      get(table, part) {
        count(part as bigint[]);
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
  /** Reads all plants after a time, each read near taking another: how many were read near. */
  const nearAfter = async (ms: number, each: number) => {
    [now, msOfRead] = [now + ms, each];
    counts.near = 0;
    counts.far = 0;
    const found = await sql.find({ table: "plants", ids, urls });
    expect(found.map((one) => one?.json)).toEqual(ids.map((id) => `{"name":"plant ${id}"}`));
    expect(counts.near + counts.far).toBe(count);
    return counts.near;
  };

  msOfRead = 1;
  expect((await sql.get("plants", ids.slice(0, 1))).map(({ id }) => id)).toEqual([40n]);
  expect([counts.near, opened]).toEqual([1, 0]);
  expect((await sql.get("plants", ids.slice(0, 3))).map(({ id }) => id)).toEqual([39n, 40n, 38n]);
  expect([counts.near, opened]).toEqual([3, 1]);
  const grown = [await nearAfter(0, 1), await nearAfter(0, 1), await nearAfter(0, 1), await nearAfter(0, 1)];
  expect(grown).toEqual([4, 8, 16, 32]);
  // The pages of a slow disk.
  expect([await nearAfter(0, 2), await nearAfter(0, 5), await nearAfter(0, 4)]).toEqual([32, 16, 3]);
  expect([await nearAfter(0, 2), await nearAfter(999, 2)]).toEqual([0, 0]);
  expect([await nearAfter(1, 2), await nearAfter(999, 2)]).toEqual([1, 0]);
  const again = [await nearAfter(1, 0), await nearAfter(0, 0), await nearAfter(0, 0), await nearAfter(0, 0)];
  expect(again).toEqual([1, 2, 4, 8]);
  expect(opened).toBe(1);
});

test("lists and statements are read elsewhere, by a connection that is opened again after a failure, and closed", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plants.db");
  await using _ = await SqliteStore.open(file, "create", unexpected, {
    compiler,
    contract: plantStoreSource,
  });
  const calls: string[] = [];
  const reader = (place: string): ReadConnection => {
    const sql = SqlReader.open(file, plantStore);
    const { dialect, inTime, callsMax, shortCallsMax } = sql;
    const called = <Call>(name: string, call: Call): Call => {
      calls.push(`${place} ${name}`);
      return call;
    };
    return {
      ...{ dialect, inTime, callsMax, shortCallsMax },
      query: (...call) => called("query", sql).query(...call),
      page: (...call) => called("page", sql).page(...call),
      count: (...call) => called("count", sql).count(...call),
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
  const list = { table: "plants", conditions: [], terms: [], after: undefined, offset: 0 };
  {
    await using sql = nearReads(reader("near"), openFar, () => 0);
    expect(await settled(sql.query("SELECT 1"))).toThrow("too many open files");
    expect(await sql.query("SELECT 1 AS one")).toEqual([{ one: 1n }]);
    await sql.page({ ...list, size: 1, bytesMax: 1_000, url: "" }, 1_000);
    await sql.count(list, 1_000);
    await sql.get("plants", [1n]);
  }
  const expected = ["far query", "far page", "far count", "near get", "near close", "far close"];
  expect([calls, opened]).toEqual([expected, 2]);
});
