// Which statements are prepared.

import { expect, test } from "bun:test";
import { toStatement } from "../../../../src/store/postgres/sql-work.ts";

test("a statement has one name, only if it is prepared, and no more than 1,000 are", () => {
  const select = (number: number) => toStatement({ sql: `SELECT ${number}`, isPrepared: true }).name;
  expect(toStatement({ sql: "SELECT 0" }).name).toBeUndefined();
  const names = Array.from({ length: 1_001 }, (_, number) => select(number));
  const given = new Set(names.filter((name) => name !== undefined));
  expect(given.size).toBeLessThanOrEqual(1_000);
  expect(select(0)).toBe(names[0] as string);
  expect(names[1_000]).toBeUndefined();
});
