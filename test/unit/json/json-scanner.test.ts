// The JSON scanner, compared with JSON.parse.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { scanJson } from "../../../src/json/json-scanner.ts";

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** JSON texts with characters deleted, inserted or replaced: most are not JSON, some still are. */
const nearlyJson = fc
  .tuple(
    fc.json({ maxDepth: 4 }),
    fc.nat(),
    fc.nat(3),
    fc.string({ unit: fc.constantFrom(...'{}[]:,"\\0123456789.eE+-tfn \n\u0001é'), maxLength: 3 }),
  )
  .map(([text, place, cut, put]) => {
    const at = place % (text.length + 1);
    return text.slice(0, at) + put + text.slice(at + cut);
  });

test("finds a syntax error exactly if JSON.parse throws", () => {
  fc.assert(
    fc.property(nearlyJson, (text) => {
      expect("members" in scanJson(text, ["id"])).toBe(isJson(text));
    }),
    { numRuns: 8_000 },
  );
});

test("returns the texts of the wanted members of the outermost object, of duplicates the last", () => {
  const wanted = ["id", "name", ""];
  const member = fc.tuple(
    fc.constantFrom(
      "id",
      "a",
      "\\u0069d",
      "i\\u0064",
      "\\n",
      "",
      "name",
      "n\\u0061me",
      "idx",
      "\\u0069\\u0064\\u0064",
    ),
    fc.oneof(
      fc.constantFrom("1", "-2.50e+3", "9223372036854775808", '"3"', '{"id": 4}', "[5]", "null"),
      fc.json({ maxDepth: 3 }),
    ),
  );
  fc.assert(
    fc.property(fc.array(member, { maxLength: 6 }), (members) => {
      const text = ` {${members.map(([name, value]) => `"${name}" : ${value}`).join(" , ")}} `;
      const expected = new Map<string, string>();
      for (const [name, value] of members) {
        const key = JSON.parse(`"${name}"`);
        if (wanted.includes(key)) expected.set(key, value);
      }
      const scan = scanJson(text, wanted);
      expect("members" in scan && [...scan.members].toSorted()).toEqual([...expected].toSorted());
      expect(scanJson(`[${text}]`, wanted)).toEqual({ members: new Map(), other: undefined });
    }),
  );
});

test.each([
  ["", "line 1, column 1: expected a value, found the end of the body"],
  ['{"a": 1,\n\n  "b" 2}', 'line 3, column 7: expected ":", found "2"'],
  ['{"a": [1 2]}', 'line 1, column 10: expected "," or the closing bracket, found "2"'],
  ["[1,]", 'line 1, column 4: expected a value, found "]"'],
  ["[1}", 'line 1, column 3: expected "," or the closing bracket, found "}"'],
  ["}", 'line 1, column 1: expected a value, found "}"'],
  ['{"a" 🌱}', 'line 1, column 6: expected ":", found "🌱"'],
  ["tru", 'line 1, column 1: expected a value, found "t"'],
  ['{"id": 1', 'line 1, column 9: expected "," or the closing bracket, found the end of the body'],
  ['{"id": 01}', 'line 1, column 9: expected "," or the closing bracket, found "1"'],
  ["{} x", 'line 1, column 4: expected nothing more, found "x"'],
  ["{'id': 1}", `line 1, column 2: expected a member name in double quotes or "}", found "'"`],
  ['{"id": 1,}', 'line 1, column 10: expected a member name in double quotes, found "}"'],
  ['{"name": "a\nb"}', 'line 1, column 12: expected control characters to be escaped, found "\\n"'],
  [
    '{"name": "\\x"}',
    'line 1, column 11: expected an escape such as \\n or \\u0041 after "\\", found "\\\\"',
  ],
  ['{"name": "a', "line 1, column 12: expected a closing double quote, found the end of the body"],
  ['{"id": NaN}', 'line 1, column 8: expected a value, found "N"'],
  ["-", 'line 1, column 1: expected a value, found "-"'],
])("reports position and reason of the syntax error in %p", (text, sentence) => {
  expect(scanJson(text, [])).toEqual({ error: sentence });
});
