// Whether a store of one contract can take over another one.

import { expect, test } from "bun:test";
import { findRefusedChange } from "../../../src/openapi/description/compare-contracts.ts";
import { shelfFields as own, readSingle, shelves } from "../../support/contracts.ts";

const original = await readSingle(shelves(own));

test.each([
  ["no change", shelves(own)],
  ["a field more", shelves({ ...own, note: { type: "string" } })],
  ["a field less", shelves({ name: own.name, size: own.size })],
  ["a field that is optional now", shelves(own, [])],
  [
    "a required field with a default",
    shelves({ ...own, room: { type: "string", default: "hall" } }, ["name", "room"]),
  ],
  [
    "wider limits",
    shelves({ ...own, name: { type: "string", maxLength: 99 }, size: { type: "integer", minimum: 0 } }),
  ],
  [
    "formats and limits that restrict nothing",
    shelves({
      ...own,
      name: { ...own.name, format: "password", minLength: 0 },
      size: { ...own.size, format: "int64" },
    }),
  ],
  ["more values", shelves({ ...own, kind: { type: "string", enum: ["b", "c", "a"] } })],
  ["other descriptions", shelves({ ...own, name: { ...own.name, description: "A name.", examples: ["x"] } })],
])("%s: it can", async (_, wanted) => {
  expect(findRefusedChange(original, await readSingle(wanted))).toBeUndefined();
});

test.each([
  [
    "another type",
    shelves({ ...own, size: { type: "string" } }),
    '"size" was an integer (int64), at least 1 and at most 9, and would be a string',
  ],
  [
    "a narrower limit",
    shelves({ ...own, name: { type: "string", maxLength: 9 } }),
    '"name" was a string of at most 10 characters, and would be a string of at most 9 characters',
  ],
  [
    "a value less",
    shelves({ ...own, kind: { type: "string", enum: ["a"] } }),
    '"kind" was one of "a", "b", and would be one of "a"',
  ],
  ["a new limit", shelves({ ...own, name: { ...own.name, minLength: 1 } }), '"name" was '],
  [
    "a required field without a default",
    shelves({ ...own, room: { type: "string" } }, ["name", "room"]),
    '"room" was no field, and would be required without a default',
  ],
  [
    "a required field whose default cannot be stored",
    shelves({ ...own, room: { type: "string", default: "a\0b" } }, ["name", "room"]),
    '"room" was no field, and would be required without a default that can be stored',
  ],
  [
    "a field that is required now",
    shelves(own, ["name", "kind"]),
    '"kind" was optional, and would be required without a default',
  ],
])("%s: it cannot", async (_, wanted, reason) => {
  expect(findRefusedChange(original, await readSingle(wanted))).toContain(reason);
});
