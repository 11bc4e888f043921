// A list that takes long is read in parts, on connections whose time the test sets.

import { expect, spyOn, test } from "bun:test";
import { ListReads } from "../../../src/store/list-reads.ts";
import type { PlantStore } from "../../../src/store/plant-store.ts";
import type { Page, PageQuery, ReadConnection } from "../../../src/store/shared/page.ts";
import { SqlTimeout } from "../../../src/store/sql-connection.ts";
import { plantStore } from "../../support/contracts.ts";
import { settled } from "../../support/settled.ts";

const all: PageQuery = {
  table: "plants",
  conditions: [],
  terms: [],
  after: undefined,
  offset: 0,
  size: 100,
  bytesMax: 1_000,
  url: "/plants",
};

test("a list that takes long goes on in parts of one page, and ends after a second with where to go on", async () => {
  let now = 0;
  using _ = spyOn(performance, "now").mockImplementation(() => now);
  const asked: PageQuery[] = [];
  const sql = {
    shortCallsMax: 1,
    callsMax: 1,
    async page(query: PageQuery): Promise<Page> {
      asked.push(query);
      await new Promise((resolve) => setImmediate(resolve));
      now += 100;
      const rest = { after: { values: [], id: BigInt(asked.length) }, offset: 0 };
      const found = { count: 1, end: rest.after, hasMore: true, isFull: false, isCutShort: false };
      // In bytes this is longer than in characters.
      return { json: '[{"id":"€"}]', ...found, rest };
    },
    [Symbol.asyncDispose]: async () => undefined,
  } as unknown as ReadConnection;
  const store = { contract: plantStore, openSql: async () => sql } as unknown as PlantStore;
  await using resources = new AsyncDisposableStack();
  const lists = new ListReads(store, sql, resources, 10_000);
  const page = await lists.page("caller", all, undefined);
  // A short turn, and then those of a second.
  expect(asked).toHaveLength(11);
  expect(asked.slice(0, 3).map(({ after, size, bytesMax }) => [after?.id, size, bytesMax])).toEqual([
    [undefined, 100, 1_000],
    [1n, 99, 986],
    [2n, 98, 973],
  ]);
  expect(page).toMatchObject({ count: 11, hasMore: true, rest: { after: { id: 11n } } });
  expect(JSON.parse(page.json)).toHaveLength(11);
});

test("as many calls are under way as a connection allows, and others wait: those that take long on one of their own", async () => {
  const most = { quick: 0, slow: 0 };
  const underWay = { quick: 0, slow: 0 };
  const found = { json: "[]", count: 0, end: undefined, hasMore: false, isFull: false, isCutShort: false };
  const connection = (kind: "quick" | "slow") =>
    ({
      shortCallsMax: 3,
      callsMax: 2,
      async page({ after, offset }: PageQuery): Promise<Page> {
        most[kind] = Math.max(most[kind], ++underWay[kind]);
        await new Promise((resolve) => setImmediate(resolve));
        underWay[kind]--;
        return { ...found, rest: kind === "quick" ? { after, offset } : undefined };
      },
    }) as unknown as ReadConnection;
  const store = { contract: plantStore, openSql: async () => connection("slow") } as unknown as PlantStore;
  const lists = new ListReads(store, connection("quick"), new AsyncDisposableStack(), 10_000);
  await Promise.all(Array.from({ length: 20 }, (_, call) => lists.page(`caller ${call}`, all, undefined)));
  expect(most).toEqual({ quick: 3, slow: 2 });
});

test("a list goes on in turns of a tenth of a second, an order without an index in one, also after a connection failed", async () => {
  let now = 0;
  using _ = spyOn(performance, "now").mockImplementation(() => now);
  const asked: number[] = [];
  const parts: Pick<Page, "json" | "count" | "end" | "rest">[] = [];
  const sql = {
    shortCallsMax: 1,
    callsMax: 1,
    async page(_: PageQuery, ms: number): Promise<Page> {
      asked.push(ms);
      now += 50;
      const part = parts.shift();
      if (part === undefined) throw new SqlTimeout();
      return { ...part, hasMore: part.rest !== undefined, isFull: false, isCutShort: false };
    },
    [Symbol.asyncDispose]: async () => undefined,
  } as unknown as ReadConnection;
  let opened = 0;
  const openSql = async () => {
    if (++opened === 1) throw new Error("too many connections");
    return sql;
  };
  const store = { contract: plantStore, openSql } as unknown as PlantStore;
  await using resources = new AsyncDisposableStack();
  const lists = new ListReads(store, sql, resources, 10_000);
  expect(await settled(lists.page("caller", all, undefined))).toThrow("too many connections");
  asked.length = 0;

  const end = { values: [], id: 7n };
  const rest = { after: end, offset: 0 };
  const nothing = { json: "[]", count: 0, end: undefined };
  parts.push({ ...nothing, rest }, { json: '[{"name":"Hoya"}]', count: 1, end, rest });
  parts.push({ ...nothing, rest: undefined });
  const page = await lists.page("caller", all, undefined);
  expect(page).toMatchObject({ json: '[{"name":"Hoya"}]', count: 1, end, hasMore: false, rest: undefined });
  expect([asked, opened]).toEqual([[20, 100, 100], 2]);

  asked.length = 0;
  const byName = { ...all, terms: [{ key: 0, isDescending: false }] };
  expect(await lists.page("caller", byName, undefined)).toMatchObject({ json: "[]", hasMore: true });
  expect(asked).toEqual([20, 1_000]);
});
