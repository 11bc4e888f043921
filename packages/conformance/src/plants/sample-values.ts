// Finds values of the fields that rules fill besides the texts of their choice.

import type { Collection, Field } from "../../../../src/contract/contract.ts";
import type { FieldValue } from "../../../../src/contract/stored-types.ts";

/** Numbers that are tried: a multiple of 100 is one that differs. */
const triesMax = 100;

/** Two different values of a field, as JSON, if there are; the contract's examples come first. */
export function sampleValues(collection: Collection, field: Field): readonly string[] {
  const { type } = field;
  const values: FieldValue[] = [];
  for (const candidate of candidates(collection, field)) {
    if (values.length === 2) break;
    const value = type.parse(candidate);
    if (value === undefined || type.unstorable(value) !== undefined) continue;
    if (!values.some((each) => type.equals(each, value))) values.push(value);
  }
  return values.map((value) => type.toJson(value));
}

/** Texts that may be values of a field. */
function* candidates({ fields, examples }: Collection, field: Field): Generator<string> {
  const { type } = field;
  const index = fields.indexOf(field);
  const given = [field.example, ...examples.map(({ values }) => values[index])].flatMap((value) =>
    value === undefined ? [] : [type.format(value)],
  );
  yield* given;
  if (Array.isArray(type.input)) yield* type.input as string[];
  const [example = ""] = given;
  // Repeating the items of an array makes another value.
  if (type.input === "json" && example.startsWith("[")) {
    const items: unknown[] = JSON.parse(example);
    yield JSON.stringify([...items, ...items]);
  }
  for (let number = 0; number <= triesMax; number++) {
    const digits = String(number).padStart(2, "0");
    yield String(number);
    yield String(Number(example) + number);
    if (number < 60) yield `2026-01-01T00:00:${digits}Z`;
    if (number > 0 && number < 29) yield `2026-01-${digits}`;
  }
  // The last character of a UUID or a code can vary. Letters of the other case, which may mean the
  // same, come last, as in the Z of a time.
  for (const last of "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
    yield example.slice(0, -1) + last;
  yield* ["true", "false", "[]", "{}"];
}
