// The types of fields: what each takes, what it makes of it, and the way to a column and back.

import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  boolean,
  dateTime,
  decimal,
  type FieldType,
  int32,
  int64,
  oneOf,
  text,
  texts,
} from "../../../../src/core/contract/field-types.ts";
import { anyValue } from "../../../support/random.ts";

const types: Readonly<Record<string, FieldType<unknown>>> = {
  text: text(),
  "text of 3": text({ maxLength: 3 }),
  "one of": oneOf("small", "large"),
  "date-time": dateTime(),
  int32: int32(),
  int64: int64(),
  "decimal(2)": decimal(2),
  boolean: boolean(),
  texts: texts(),
};

/** The value of a JSON text, or undefined. */
function fromJson(type: FieldType<unknown>, json: string): unknown {
  return type.fromJson(JSON.parse(json), () => json);
}

test.each<[type: string, accepted: Record<string, unknown>, rejected: string[]]>([
  ["text", { '""': "", '"\\u0000"': "\0" }, ["1", "null", "[]"]],
  ["text of 3", { '"abc"': "abc", '"🌿🌿🌿"': "🌿🌿🌿" }, ['"abcd"']],
  ["one of", { '"small"': "small" }, ['"medium"', '"toString"', "1"]],
  [
    "date-time",
    { '"2024-02-29T23:59:60.5+01:00"': "2024-02-29T23:59:60.5+01:00" },
    ['"2023-02-29T00:00:00Z"', '"2024-01-01T00:00:00"', '"2024-01-01"', "1"],
  ],
  ["int32", { "-2147483648": -(2 ** 31), "1e3": 1_000, "1.0": 1, "-0": 0 }, ["2147483648", "1.5", '"1"']],
  [
    "int64",
    { "9223372036854775807": 2n ** 63n - 1n, "9007199254740993": 2n ** 53n + 1n },
    ["9223372036854775808", "1.0000000000000000001"],
  ],
  [
    "decimal(2)",
    {
      "19.9": "19.90",
      "19.90": "19.90",
      "0.1e1": "1.00",
      "-0": "0.00",
      "-0.01": "-0.01",
      "12345678901234567890.12": "12345678901234567890.12",
      "1e2": "100.00",
      "1500e-2": "15.00",
    },
    ["19.999", "1e-3", '"19.90"', "1e40"],
  ],
  ["boolean", { true: true, false: false }, ["1", '"true"']],
  ["texts", { "[]": [], '["a","b"]': ["a", "b"] }, ["{}", "[1]", '[["a"]]', '"a"']],
])("%s", (name, accepted, rejected) => {
  const type = types[name] as FieldType<unknown>;
  for (const [json, value] of Object.entries(accepted))
    expect([json, fromJson(type, json)]).toEqual([json, value]);
  for (const json of rejected) expect([json, fromJson(type, json)]).toEqual([json, undefined]);
});

test.each(Object.entries(types))("a value of %s is the same after each way out and back", (name, type) => {
  const any = name === "text of 3" ? fc.string({ maxLength: 3 }) : anyValue(type);
  fc.assert(
    fc.property(any, (value) => {
      expect(type.parse(type.format(value))).toEqual(value);
      expect(type.fromColumn(type.toColumn(value))).toEqual(value);
      expect(fromJson(type, JSON.stringify(type.toJson(value)))).toEqual(value);
      expect(type.equals(value, structuredClone(value))).toBe(true);
      expect(type.format(value).length).toBeLessThanOrEqual(type.size(value));
    }),
  );
});

test("a text that no engine can store is found, also in an array", () => {
  expect(types.texts?.unstorable(["a", "b\0"])).toBe("holds U+0000 at index 1");
  expect(types.text?.unstorable("\ud800")).toBe("holds the unpaired surrogate U+D800 at index 0");
  expect(types.texts?.unstorable(["a", "🌿"])).toBeUndefined();
});
