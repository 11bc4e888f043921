// The cursors of sorted pages, which a client may send to a later contract.

import { expect, test } from "bun:test";
import { ApiError } from "../../../src/base/errors.ts";
import { parseOrder } from "../../../src/contract/list-order.ts";
import { placeOf, toCursor } from "../../../src/plants/sorted-list.ts";
import { readSingle, shelfFields, shelves } from "../../support/contracts.ts";

const { name, size } = shelfFields;
const terms = [{ key: 1, isDescending: false }];
const place = { id: 7n, values: [5n] };
const read = { dialect: "sqlite", query: () => expect.unreachable() } as const;

test("a cursor is of the properties that it was made for, wherever a contract has them", async () => {
  const cursor = toCursor(await readSingle(shelves({ name, size })), terms, place);
  const [moved, other] = await Promise.all([
    readSingle(shelves({ size, name })),
    readSingle(shelves({ name, width: size })),
  ]);
  const bySize = [{ key: 0, isDescending: false }];
  expect(await placeOf(moved, bySize, cursor, read)).toEqual(place);
  expect(await placeOf(other, terms, cursor, read)).toBeInstanceOf(ApiError);
});

test("a cursor with a long value is an id", async () => {
  const contract = await readSingle(shelves({ name, size }));
  const cursorOf = (length: number) => toCursor(contract, terms, { id: 7n, values: ["x".repeat(length)] });
  expect([cursorOf(900), cursorOf(1_000)].map((cursor) => cursor === "7")).toEqual([false, true]);
});

test("an order has at most eight properties", () => {
  const ordered = (count: number) => parseOrder(Array(count).fill("name").join(), new Map([["name", 0]]));
  expect([8, 9].map((count) => ordered(count)?.length)).toEqual([8, undefined]);
});
