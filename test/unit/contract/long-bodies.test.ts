// Bodies that are too long for JSON.parse: parsed like short ones, but only their fields.

import { afterEach, expect, spyOn, test } from "bun:test";
import fc from "fast-check";
import { ApiError } from "../../../src/base/errors.ts";
import { parsePlant, parsePlantJson } from "../../../src/contract/plant.ts";
import { contractWith } from "../../support/console.ts";
import { plantStore } from "../../support/contracts.ts";
import { objectOf, readThings } from "../../support/descriptions.ts";

const parse = spyOn(JSON, "parse");
afterEach(() => parse.mockClear());

const MiB = 2 ** 20;

/** A text as long as the default limit of a body. */
function filled(start: string, unit: string, end: string): string {
  return start + unit.repeat(Math.floor((MiB - start.length - end.length) / unit.length)) + end;
}

const deep = "[".repeat(500_000) + "]".repeat(500_000);
const members = Array.from({ length: 70_000 }, (_, index) => `,"${index}":1`).join("");

test.each([
  ["opening brackets", filled("", "[", ""), "invalidJson"],
  ["objects that do not end", filled("", '{"a":', ""), "invalidJson"],
  ["names that are escaped", filled('{"\\n":0', ',"\\n":0', ""), "invalidJson"],
  ["an array that is deep", deep, "invalidPlant"],
  ["an id of a million digits", filled('{"name":"x","id":', "1", "}"), "invalidPlant"],
  ["an unknown field that is deep", `{"id":1,"name":"x","u":${deep}}`, 1n],
  ["an unknown string", filled('{"id":1,"name":"x","u":"', "x", '"}'), 1n],
  ["unknown fields", `{"id":1.0,"name":"x"${members}}`, 1n],
  ["an id many times", filled('{"name":"x","id":7', ',"id":7', "}"), 7n],
  ["an unknown number of a million digits", filled('{"name":"x","id":7,"u":', "1", "}"), 7n],
] as const)("a megabyte of %s", (what, text, expected) => {
  const read = parsePlant(plantStore, Buffer.from(text));
  expect(read instanceof ApiError ? read.code : read.id).toBe(expected);
  const parsed = parse.mock.calls.map(([json]) => json.length).filter((units) => units > 100);
  // A field itself is parsed whatever its length.
  if (what !== "an id of a million digits") expect(parsed).toEqual([]);
});

test.each(["1234567890123456789,", "0.12345678901234567,", "1e99,"])(
  "a megabyte of %s is rejected before it is read",
  async (number) => {
    const values = { type: "array", items: { type: "number" } };
    const body = objectOf({ id: { type: "integer" }, values }, ["id"]);
    for (const each of [body, { ...body, minProperties: 1 }]) {
      const things = await readThings({ body: each });
      const read = parsePlant(things, Buffer.from(filled('{"id":1,"values":[', number, "1]}")));
      expect((read as ApiError).message).toContain("its check takes too long");
    }
    expect(parse.mock.calls.filter(([json]) => json.length > 100_000)).toEqual([]);
  },
);

/** Objects some of which are a NewPlant, or nearly one. */
const body = fc
  .array(
    fc.tuple(
      fc.constantFrom("id", "name", "tag", "u", "\\u0069d", "__proto__", "constructor"),
      fc.oneof(
        fc.constantFrom(
          "1",
          "1e3",
          "1.5",
          "-0",
          '"Monstera"',
          '"\\u0000"',
          '"\\ud800"',
          "null",
          "[[]]",
          "{}",
        ),
        fc.json({ maxDepth: 2 }),
      ),
    ),
    { maxLength: 6 },
  )
  .chain((all) => {
    const text = `{${all.map(([name, value]) => `"${name}":${value}`).join(",")}}`;
    const broken = fc.nat(text.length).map((at) => text.slice(0, at) + text.slice(at + 1));
    return fc.oneof({ weight: 3, arbitrary: fc.constant(text) }, broken, fc.json());
  });

test("a long body is parsed like a short one, to the last word of its error", () => {
  fc.assert(
    fc.property(body, (text) => {
      const [short, long] = [text, "\n".repeat(5_000) + text].map((one) => parsePlantJson(plantStore, one));
      const shown = (read: typeof short) =>
        read instanceof ApiError ? [read.code, read.message.replace(/line \d+/, "line")] : read;
      expect(shown(long)).toEqual(shown(short));
    }),
    { numRuns: 1_000 },
  );
});

test("a member that the contract does not allow is found behind one that is readOnly", async () => {
  const collection = await contractWith(
    { name: { type: "string" }, seen: { type: "string", readOnly: true } },
    ["name"],
    { additionalProperties: false },
  );
  for (const name of ["short", "x".repeat(5_000)]) {
    const read = parsePlantJson(collection, JSON.stringify({ seen: "now", evil: 1, id: 1, name }));
    expect(read instanceof ApiError && read.message).toContain('it must have no member "evil"');
  }
});
