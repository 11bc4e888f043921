// The fields of a contract: the properties of the resource besides its id, in their order.

import type { Field } from "../contract.ts";
import { hasPatterns } from "../schema/json-schemas.ts";
import { fieldTypeOf } from "../schema/schema-types.ts";
import { isObject, isReadOnly, type Json, propertiesOf, requiredOf } from "../schema/schemas.ts";
import { contextAt } from "../schema/type-context.ts";
import type { FieldType, FieldValue } from "../values/stored-types.ts";
import type { Collection } from "./collection.ts";
import { columnNameOf, quoteColumn } from "./column-names.ts";
import { exampleOf, toFieldValue } from "./example-values.ts";

/**
 * Reads the fields. Rejects with an OperatorError.
 *
 * @param bodies the examples of bodies.
 */
export async function readFields(
  { body, schema, id, returned }: Collection,
  bodies: readonly Json[],
): Promise<Field[]> {
  const place = body.at("schema");
  const properties = propertiesOf(schema);
  const required = requiredOf(schema);
  const missing = required.find((name) => !Object.hasOwn(properties, String(name)));
  if (missing !== undefined) throw place.error(`"${missing}" is required, but is no property`);
  const kept: (readonly [string, Json])[] = [];
  for (const [name, value] of Object.entries(properties)) {
    const property = value === true ? {} : value;
    const at = place.at("properties", name);
    if (!isObject(property)) throw at.error(`the property "${name}" must have a schema`);
    if (name === id.name) continue;
    if (!isReadOnly(property)) kept.push([name, property]);
    else if (!isCreationTime(name, property)) at.note(`"${name}" is readOnly, and is not kept`);
  }
  if (kept.length === 0) throw place.error("the resource must have a property besides its id");
  const share = 1 / Math.max(1, kept.filter(([, property]) => hasPatterns(property)).length);
  const answered = isObject(returned?.properties) ? returned.properties : properties;
  const fields: Field[] = [];
  for (const [name, property] of kept) {
    const context = contextAt(place.at("properties", name), name, share);
    const type = await fieldTypeOf(property, context);
    const isRequired = required.includes(name);
    const sent = bodies.flatMap((each) => (Object.hasOwn(each, name) ? [each[name]] : []));
    const example = exampleOf(property, type, sent);
    if (example === undefined)
      context.note("it has no example, which the demo and the conformance tests need");
    const columnName = columnNameOf(name);
    fields.push({
      name,
      jsonName: `${JSON.stringify(name)}:`,
      column: quoteColumn(columnName),
      columnName,
      type,
      isRequired,
      example: example ?? placeholder(type),
      fill: isRequired ? toFieldValue(type, property.default) : undefined,
      isReturned: Object.hasOwn(answered, name) && property.writeOnly !== true,
      isInherited: name in Object.prototype,
      schema: property,
    });
  }
  return fields;
}

/** A value for probes of a store where the contract has no example. */
function placeholder(type: FieldType): FieldValue {
  if (type.input === "number") return type.column.sqlite === "INTEGER" ? 0n : "0";
  return type.input === "boolean" ? true : "0";
}

/** The property of a response that is the time of creation, unless clients send it. */
export function createdNameOf({ returned = {} }: Collection, fields: readonly Field[]): string | undefined {
  const found = Object.entries(propertiesOf(returned)).find(
    ([name, property]) => isCreationTime(name, property) && !fields.some((field) => field.name === name),
  );
  return found?.[0];
}

function isCreationTime(name: string, property: unknown): boolean {
  const isTime = isObject(property) && property.type === "string" && property.format === "date-time";
  return isTime && ["created_at", "createdAt"].includes(name);
}

/**
 * The names of the members that every response has. A response that requires what is not stored
 * would break the contract.
 */
export function alwaysReturned(
  { id, returned = {}, success }: Collection,
  fields: readonly Field[],
  createdName: string | undefined,
): string[] {
  for (const name of requiredOf(returned)) {
    const field = fields.find((each) => each.name === name);
    if (name === id.name || name === createdName || field?.isRequired) continue;
    const reason = field === undefined ? "which the body does not have" : "which is optional in the body";
    throw success.place.error(`the response requires "${name}", ${reason}`);
  }
  const kept = fields.filter(({ isRequired, isReturned }) => isRequired && isReturned);
  return [id.name, ...kept.map(({ name }) => name), ...(createdName === undefined ? [] : [createdName])];
}

/**
 * The field that a keyword of the schema names, or else the first text that fits. Throws an
 * OperatorError.
 */
export function textField(
  { body, schema }: Collection,
  fields: readonly Field[],
  keyword: "x-plantstore-title" | "x-plantstore-group",
): Field | undefined {
  const named = schema[keyword];
  const isTitle = keyword === "x-plantstore-title";
  const texts = fields.filter(({ type }) => type.input === "text" || Array.isArray(type.input));
  if (named === undefined) return texts.find(({ isRequired }) => isRequired === isTitle);
  const field = texts.find(({ name }) => name === named);
  if (field !== undefined) return field;
  throw body
    .at("schema")
    .error(`${keyword} must name a text of the resource, but is ${JSON.stringify(named)}`);
}
