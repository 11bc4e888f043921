// Reads texts of a request as the values that a schema is for: parameters, and the members of
// forms.

import { parseExactJson } from "../json/exact-json.ts";
import { isObject, type Json } from "../json/json-values.ts";
import { valueTypes } from "../openapi/description/field-type.ts";
import { propertiesOf } from "../openapi/schema/restrictions.ts";

/** The name of a member, and its text. */
export type Pair = readonly [name: string, text: string];

/** A text as a value of JSON, where the schema is for no text. */
export function valueOfText(text: string, schema: Json): unknown {
  return valueTypes(schema).has("string") ? text : parseJson(text);
}

/** A text as JSON; the text itself if it is none. */
function parseJson(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch (error) {
    if (error instanceof SyntaxError) return text;
    throw error;
  }
}

/** The items of an array, which a form may also have as JSON. */
function itemsOfForm(texts: readonly string[], schema: Json): unknown {
  const [text = ""] = texts;
  const parsed = texts.length === 1 && text.startsWith("[") ? parseJson(text) : undefined;
  return Array.isArray(parsed) ? parsed : itemsOfTexts(texts, schema);
}

export function itemsOfTexts(texts: readonly string[], { items }: Json): unknown[] {
  return texts.map((text) => valueOfText(text, isObject(items) ? items : {}));
}

/** An object of pairs. Several with one name are an array, where the schema has one. */
export function objectOfPairs(pairs: readonly Pair[], schema: Json): Json {
  const members = Map.groupBy(pairs, ([name]) => name);
  return Object.fromEntries(
    Array.from(members, ([name, all]) => {
      const member = memberSchema(schema, name);
      const texts = all.map(([, text]) => text);
      return [
        name,
        isOnly(member, "array") ? itemsOfForm(texts, member) : valueOfText(texts[0] ?? "", member),
      ];
    }),
  );
}

/** Whether a schema is for one type, and for no text. */
export function isOnly(schema: Json, type: string): boolean {
  const types = valueTypes(schema);
  return types.has(type) && !types.has("string");
}

/** Whether an object of a schema may have a member; an object without named members may have any. */
export function mayHave(schema: Json, name: string): boolean {
  const parts = partsOf(schema).filter((part) => part.properties !== undefined);
  const isNamed = (part: Json) =>
    Object.hasOwn(propertiesOf(part), name) || Boolean(part.additionalProperties);
  return parts.length === 0 || parts.some(isNamed);
}

/** The schema of a member of an object, as far as its parts name it. */
export function memberSchema(schema: Json, name: string): Json {
  for (const part of partsOf(schema)) {
    const properties = propertiesOf(part);
    const found = Object.hasOwn(properties, name) ? properties[name] : part.additionalProperties;
    if (isObject(found)) return found;
  }
  return {};
}

function partsOf(schema: Json): Json[] {
  return [schema, ...["allOf", "anyOf", "oneOf"].flatMap((keyword) => schema[keyword] ?? [])].filter(
    isObject,
  );
}
