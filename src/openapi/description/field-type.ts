// Finds the type of a property from its schema: how its values are stored and compared. Whether a
// value is accepted is for the schema to say.

import type { SchemaCheck } from "../../contract/schema-check.ts";
import {
  boolean,
  decimal,
  type FieldType,
  integer,
  json,
  nullable,
  oneOf,
  restricted,
  text,
} from "../../contract/stored-types.ts";
import { fractionDigits } from "../../json/decimal.ts";
import type { JsonFilter } from "../../json/json-filter.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { isAnnotation } from "../schema/restrictions.ts";
import { isIntegral, kindOf } from "../schema/values.ts";

/**
 * Returns the type of the values that a schema accepts.
 *
 * @param schema expanded.
 * @param check the check of the same schema; undefined for a schema that is enforced.
 * @param taken leaves out of arrays and objects what clients cannot set.
 */
export function fieldTypeOf(schema: Json, check: SchemaCheck | undefined, taken?: JsonFilter): FieldType {
  const types = valueTypes(schema);
  const isNullable = types.delete("null");
  const plain = plainType(schema, [...types], check?.expected, taken);
  // JSON may be null as it is.
  const type = isNullable && plain.kind.name !== "json" ? nullable(plain) : plain;
  return check === undefined ? type : restricted(type, check);
}

function plainType(
  schema: Json,
  types: readonly string[],
  expected: string | undefined,
  taken: JsonFilter | undefined,
): FieldType {
  const [first, second] = types.toSorted();
  if (first === "integer" && second === undefined)
    // An integer of 64 bits without a sign fits into no column of integers.
    return schema.format === "uint64" ? decimal(0, expected) : integer(expected, isIntegerAsText(schema));
  if (second === "number" && types.length === 2)
    return decimal(fractionDigits(keywordOf(schema, "multipleOf")), expected);
  if (second !== undefined) return json(expected, taken);
  if (first === "boolean") return boolean();
  if (first !== "string") return json(expected, taken);
  const values = keywordOf(schema, "enum") ?? [keywordOf(schema, "const")];
  const texts = Array.isArray(values) ? values.filter((value) => typeof value === "string") : [];
  return texts.length > 0 ? oneOf(texts) : text(expected);
}

const scalarTypes: readonly unknown[] = ["string", "integer", "number", "boolean"];

/** Formats that restrict nothing beyond a type. */
const freeFormats: Readonly<Record<string, readonly unknown[]>> = {
  string: ["password", "binary"],
  integer: ["int64"],
  number: ["double"],
};

/** Whether the type of a schema accepts just what the schema does. */
export function isEnforced(schema: Json): boolean {
  return Object.entries(schema).every(
    ([keyword, value]) =>
      (keyword === "type" && scalarTypes.includes(value)) ||
      (keyword === "format" && freeFormats[String(schema.type)]?.includes(value)) ||
      isAnnotation(keyword),
  );
}

const allTypes = ["string", "integer", "number", "boolean", "null", "object", "array"] as const;

/**
 * The types of JSON that a schema may accept. A number that is no integer is "number" alone.
 *
 * @param schema expanded.
 */
export function valueTypes(schema: unknown): Set<string> {
  let found = new Set<string>(schema === false ? [] : allTypes);
  if (!isObject(schema)) return found;
  const restrict = (types: ReadonlySet<string>) => {
    // The conformance kit runs on Node.js 20, whose sets have no intersection.
    found = new Set([...found].filter((each) => types.has(each)));
  };
  const { type, enum: values, allOf, anyOf, oneOf } = schema;
  // .NET 10 writes every integer so; it is sent as one.
  if (isIntegerAsText(schema)) found.delete("string");
  if (type !== undefined)
    restrict(
      new Set([type].flat().flatMap((each) => (each === "number" ? ["integer", "number"] : [String(each)]))),
    );
  if (Array.isArray(values)) restrict(new Set(values.map(typeOfValue)));
  if ("const" in schema) restrict(new Set([typeOfValue(schema.const)]));
  if (Array.isArray(allOf)) for (const part of allOf) restrict(valueTypes(part));
  for (const parts of [anyOf, oneOf])
    if (Array.isArray(parts)) restrict(new Set(parts.flatMap((part) => [...valueTypes(part)])));
  return found;
}

/** Whether a schema is that of an integer that may be sent as a text of its digits. */
function isIntegerAsText({ type, pattern }: Json): boolean {
  const isBoth = Array.isArray(type) && type.includes("integer") && type.includes("string");
  return isBoth && /^\^(?:[-?(:)|[\]*+\d]|\\d)+\$$/.test(String(pattern));
}

function typeOfValue(value: unknown): string {
  const kind = kindOf(value);
  return kind === "number" && isIntegral(value) ? "integer" : kind;
}

/** A keyword of a schema, or of one of the parts that hold as well. */
function keywordOf(schema: Json, keyword: string): unknown {
  if (schema[keyword] !== undefined) return schema[keyword];
  const { allOf, anyOf, oneOf } = schema;
  const alternatives = [anyOf, oneOf].flatMap((parts) => {
    const others = Array.isArray(parts)
      ? parts.filter((part) => !isObject(part) || part.type !== "null")
      : [];
    return others.length === 1 ? others : [];
  });
  for (const part of [...(Array.isArray(allOf) ? allOf : []), ...alternatives]) {
    const found = isObject(part) ? keywordOf(part, keyword) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
