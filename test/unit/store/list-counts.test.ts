// Numbers of plants are remembered where counting takes long.

import { expect, spyOn, test } from "bun:test";
import { ListCounts } from "../../../src/store/list-counts.ts";
import { nextTurn } from "../../support/eventually.ts";
import { settled } from "../../support/settled.ts";

test("a short count is made each time, also beside one that began before", async () => {
  const counts = new ListCounts();
  let total = 0;
  const count = async () => ({ total: ++total, ms: 1 });
  expect(await counts.total("all", count)).toBe(1);
  expect(await Promise.all([counts.total("all", count), counts.total("all", count)])).not.toContain(1);
});

test("a long count is remembered for a time that follows from its own", async () => {
  let now = 1_000;
  using _ = spyOn(performance, "now").mockImplementation(() => now);
  const counts = new ListCounts();
  let total = 0;
  const count = async () => ({ total: ++total, ms: 100 });
  expect(await counts.total("all", count)).toBe(1);
  now += 2_000;
  expect(await counts.total("all", count)).toBe(1);
  expect(await counts.total("other", count)).toBe(2);
  now += 2_000;
  expect(await counts.total("all", count)).toBe(3);
});

test("the counts of 1,000 lists are remembered, and the oldest is forgotten for another", async () => {
  using _ = spyOn(performance, "now").mockReturnValue(1_000);
  const counts = new ListCounts();
  const counted: string[] = [];
  const total = (key: number) =>
    counts.total(`${key}`, async () => {
      counted.push(`${key}`);
      return { total: 7, ms: 100 };
    });
  for (let key = 0; key <= 1_000; key++) await total(key);
  counted.length = 0;
  for (const key of [1_000, 2, 0]) expect(await total(key)).toBe(7);
  expect(counted).toEqual(["0"]);
});

test("a count that fails fails those who wait, and is made again", async () => {
  const counts = new ListCounts();
  const fail = () => Promise.reject(new Error("gone"));
  expect(await settled(counts.total("all", fail))).toThrow("gone");
  expect(await counts.total("all", async () => ({ total: 7, ms: 0 }))).toBe(7);
});

test("a list does not wait for a count that takes long", async () => {
  using sleep = spyOn(Bun, "sleep").mockResolvedValue();
  const counts = new ListCounts();
  const endless = () => new Promise<never>(() => undefined);
  expect(await counts.total("all", endless)).toBeUndefined();
  expect(sleep).toHaveBeenCalledWith(1_000);
});

test("a later count is waited for shortly, and one that fails after that is nobody's exception", async () => {
  let now = 1_000;
  using _ = spyOn(performance, "now").mockImplementation(() => now);
  using sleep = spyOn(Bun, "sleep").mockResolvedValue();
  const counts = new ListCounts();
  expect(await counts.total("all", async () => ({ total: 7, ms: 100 }))).toBe(7);
  now += 10_000;
  const failing = Promise.withResolvers<never>();
  expect(await counts.total("all", () => failing.promise)).toBe(7);
  expect(sleep.mock.calls).toEqual([[1_000], [10]]);
  failing.reject(new Error("gone"));
  await nextTurn();
  expect(await counts.total("all", async () => ({ total: 8, ms: 100 }))).toBe(8);
});
