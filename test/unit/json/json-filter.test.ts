// The filter of JSON: members are left out and added at any depth, and the rest stays as it was sent.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { filterJson, type JsonFilter } from "../../../src/json/json-filter.ts";

function filter(parts: Partial<JsonFilter>): JsonFilter {
  return {
    members: new Map(),
    others: undefined,
    first: [],
    items: undefined,
    parts: [],
    alternatives: [],
    added: [],
    ...parts,
  };
}

/** Leaves out every member "a", wherever it is. */
function everywhere(): JsonFilter {
  const own: { -readonly [Key in keyof JsonFilter]: JsonFilter[Key] } = filter({
    members: new Map([["a", false]]),
  });
  own.others = own;
  own.items = own;
  return own;
}

test("leaves out what JSON.parse with a reviver does, and nothing else", () => {
  const key = fc.constantFrom("a", "b", "", '"', "\\", "}", "é");
  const { json } = fc.letrec((tie) => ({
    json: fc.oneof(
      { maxDepth: 5 },
      fc.string(),
      fc.constantFrom(null, true, 1.5),
      fc.array(tie("json"), { maxLength: 4 }),
      fc.dictionary(key, tie("json"), { maxKeys: 4 }),
    ),
  }));
  fc.assert(
    fc.property(json, (value) => {
      const expected = JSON.parse(JSON.stringify(value), (name, each) => (name === "a" ? undefined : each));
      expect(filterJson(JSON.stringify(value), everywhere())).toBe(JSON.stringify(expected));
    }),
    { numRuns: 3_000 },
  );
});

test.each<[what: string, parts: Partial<JsonFilter>, json: string, expected: string]>([
  [
    "keeps order and digits",
    { members: new Map([["a", false]]) },
    '{"9":1.50,"a":1,"1":1e400}',
    '{"9":1.50,"1":1e400}',
  ],
  ["knows a name that is escaped", { members: new Map([["a", false]]) }, '{"\\u0061":1,"b":2}', '{"b":2}'],
  [
    "leaves out the others alone",
    { members: new Map([["a", undefined]]), others: false },
    '{"a":1,"b":2}',
    '{"a":1}',
  ],
  ["leaves out items", { first: [undefined, false] }, "[1,2,3]", "[1,3]"],
  [
    "adds what is missing",
    {
      added: [
        ["b", "[1]"],
        ["a", "2"],
      ],
    },
    '{"a":1}',
    '{"a":1,"b":[1]}',
  ],
  ["adds to an empty object", { added: [["b", "null"]] }, "{}", '{"b":null}'],
  ["leaves scalars as they are", { added: [["b", "null"]] }, "1.0", "1.0"],
])("%s", (_, parts, json, expected) => {
  expect(filterJson(json, filter(parts))).toBe(expected);
});

test("applies the alternatives that a value may be of", () => {
  const hides = filter({ members: new Map([["secret", false]]) });
  const kinds = filter({ alternatives: [{ values: [["kind", ['"a"', "1"]]], filter: hides }] });
  // Of two members with a name the last one counts.
  for (const start of ['"kind":"a"', '"kind":"b","kind":"\\u0061"', '"other":1'])
    expect(filterJson(`{${start},"secret":1}`, kinds)).toBe(`{${start}}`);
  for (const json of ['{"kind":"b","secret":1}', '{"kind":"1","secret":1}'])
    expect(filterJson(json, kinds)).toBe(json);
});

test("takes linear time, and throws a RangeError beyond some depth", () => {
  const deep = (depth: number) => `${'{"b":'.repeat(depth)}1${"}".repeat(depth)}`;
  expect(filterJson(deep(400), everywhere())).toBe(deep(400));
  expect(() => filterJson(deep(100_000), everywhere())).toThrow(RangeError);
});
