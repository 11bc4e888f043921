// Finds values of the fields that rules fill besides the texts of their choice.

import type { Collection, Contract, Field } from "../../../../src/contract/contract.ts";
import type { FieldValue } from "../../../../src/contract/stored-types.ts";
import { toFieldValue } from "../../../../src/openapi/description/example-values.ts";
import { Place } from "../../../../src/openapi/document/place.ts";
import { madeValues } from "../../../../src/openapi/schema/made-values.ts";

/** Values that are made until one differs. */
const triesMax = 100;

/** Two different values of a field, as JSON, if there are; the contract's examples come first. */
export function sampleValues(
  { document }: Contract,
  collection: Collection,
  field: Field,
): readonly string[] {
  const { type } = field;
  const index = collection.fields.indexOf(field);
  const values: FieldValue[] = [];
  const add = (value: FieldValue | undefined) => {
    if (value === undefined || type.unstorable(value) !== undefined) return;
    if (!values.some((each) => type.equals(each, value))) values.push(value);
  };
  for (const { values } of collection.examples) add(values[index]);
  add(field.example);
  if (Array.isArray(field.type.input)) for (const text of field.type.input) add(type.parse(text));
  const place = Place.root(document).holding(field.schema);
  for (let time = 1; values.length < 2 && time <= triesMax; time++) {
    // The same values in each run.
    const random = () => (time * 0.618) % 1;
    for (const made of madeValues([place], { direction: "request", random })) add(toFieldValue(type, made));
  }
  return values.slice(0, 2).map((value) => type.toJson(value));
}
