// Ids that the server chooses, as texts.

import { expect, test } from "bun:test";
import { encodeId, idFormatOf, type PlantId } from "../../../src/contract/plant-id.ts";
import { type FieldType, integer, restricted } from "../../../src/contract/stored-types.ts";

test.each([
  ["uuid", 7, "ffffffff-ffff-7fff-bfff-ffffffffffff"],
  ["uuid", 8, "ffffffff-ffff-8fff-bfff-ffffffffffff"],
  ["base32", 7, "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"],
  ["hex", 7, "f".repeat(24)],
  ["ses_:12:lower", 7, "ses_zzzzzzzzzzzz"],
] as const)("an id of %s in version %d", (format, version, expected) => {
  expect(encodeId(format, Buffer.alloc(16, 0xff), version)).toBe(expected);
});

test("ids are chosen of integers in a row only", () => {
  const formatOf = (accepts: (id: number) => boolean, schema = {}) => {
    const fault = (id: unknown) => (accepts(Number(id)) ? undefined : { path: [], expected: "another" });
    const type = restricted(integer(), { expected: "some integers", fault });
    return idFormatOf(type as FieldType<PlantId>, schema);
  };
  expect(formatOf(() => true)).toBe("int64");
  // A client that describes a number has doubles.
  expect(formatOf(() => true, { type: "number" })).toBe("int53");
  expect(formatOf((id) => id >= 5 && id <= 9_999, { minimum: 5 })).toBe("5..9999");
  expect(formatOf((id) => id % 10 === 0, { minimum: 0 })).toBeUndefined();
});
