// Expands a schema, as documents show it and as two contracts are compared: replaces references, in
// the dialect of OpenAPI 3.1 (JSON Schema 2020-12), and merges what its parts say.

import { isDeepStrictEqual } from "node:util";
import { isObject, type Json } from "../../json/json-values.ts";
import { isReference, type Place } from "../document/place.ts";
import { fromVersion30, isAnnotation, mapSubschemas } from "../schema/restrictions.ts";

/**
 * Replaces all references; one back to a schema that it is in stays. Throws a ContractError for a
 * schema that is none, or too large.
 */
export function expandSchema(place: Place): Json {
  // A reference alone is what it leads to.
  if (isBareReference(place)) return expandSchema(place.target);
  return place.derive("expanded", () => {
    const expanded = expand(place, [place.pointer]);
    if (expanded === true) return {};
    if (!isObject(expanded)) throw place.error("a schema must be an object");
    return expanded;
  });
}

function isBareReference({ value, isVersion30 }: Place): boolean {
  // OpenAPI 3.0 ignores the keywords beside a reference.
  return isReference(value) && (isVersion30 || Object.keys(value).length === 1);
}

function expand(place: Place, enclosing: readonly string[]): unknown {
  place.countParts();
  const { value } = place;
  if (Array.isArray(value)) return place.items.map((item) => expand(item, enclosing));
  if (!isObject(value)) return value;
  if (enclosing.length > 200) throw place.error("its schemas are nested too deeply");
  // Values are compared one by one.
  if (Array.isArray(value.enum)) place.countParts(value.enum.length);
  if (isReference(value)) {
    const { $ref, ...beside } = value;
    const { target } = place;
    const isOpen = enclosing.includes(target.pointer);
    const found = isOpen ? { $ref } : expand(target, [...enclosing, target.pointer]);
    if (isBareReference(place)) return found;
    const own = expandMembers(place, beside, enclosing);
    return merge({ ...own, allOf: [found, ...(Array.isArray(own.allOf) ? own.allOf : [])] });
  }
  return merge(expandMembers(place, value, enclosing));
}

function expandMembers(place: Place, schema: Json, enclosing: readonly string[]): Json {
  const expanded = mapSubschemas(schema, (_, ...names) => expand(place.own(...names), enclosing));
  if (!place.isVersion30) return expanded;
  const changed = fromVersion30(expanded);
  return expanded.nullable === true ? withNull(changed) : changed;
}

/** Keywords that null would have to fit as well. */
const alternatives = ["const", "allOf", "anyOf", "oneOf", "not", "if", "$ref"];

/** A schema that accepts null besides. */
function withNull(schema: Json): Json {
  const { type, enum: values } = schema;
  const hasParts = alternatives.some((keyword) => schema[keyword] !== undefined);
  if (typeof type !== "string" || hasParts) return { anyOf: [schema, { type: "null" }] };
  const listed = Array.isArray(values) && !values.includes(null) ? { enum: [...values, null] } : {};
  return { ...schema, type: [type, "null"], ...listed };
}

/** Merges the parts of a schema that has one place for its keywords. */
function merge(schema: Json): Json {
  const merged = mergeAllOf(schema);
  for (const keyword of ["anyOf", "oneOf"]) {
    const { [keyword]: parts, ...own } = merged;
    if (!Array.isArray(parts) || parts.length > 2 || !parts.every(isObject)) continue;
    const others = parts.filter((part) => !(part.type === "null" && Object.keys(part).length === 1));
    const [part] = others;
    // FastAPI writes an optional property so: a schema, or null.
    if (part === undefined || others.length > 1) continue;
    const isNullable = parts.length > 1;
    const nullable = isNullable && typeof part.type === "string" ? withNull(part) : part;
    if (isNullable && nullable === part && !(Array.isArray(part.type) && part.type.includes("null")))
      continue;
    const both = mergeAllOf({ ...own, allOf: [nullable] });
    if (!("allOf" in both)) return both;
  }
  return merged;
}

/** Keywords whose meaning depends on the others of their schema. */
const dependent = [
  ...["additionalProperties", "patternProperties", "unevaluatedProperties", "unevaluatedItems", "items"],
  ...["prefixItems", "contains", "minContains", "maxContains"],
  ...["if", "then", "else", "anyOf", "oneOf", "not", "$ref"],
];

/** A schema with the members of its allOf, where that changes nothing. */
export function mergeAllOf(schema: Json): Json {
  const { allOf, ...own } = schema;
  if (!Array.isArray(allOf) || !allOf.every(isObject)) return schema;
  const restricting = [...allOf, own].filter((part) => Object.keys(part).some((name) => !isAnnotation(name)));
  const isDependent = restricting.some((part) => dependent.some((keyword) => Object.hasOwn(part, keyword)));
  if (restricting.length > 1 && isDependent) return schema;
  const merged: Record<string, unknown> = {};
  for (const part of [...allOf, own])
    for (const [name, value] of Object.entries(part)) {
      const before = Object.hasOwn(merged, name) ? merged[name] : undefined;
      if (before === undefined || isAnnotation(name)) define(merged, name, value);
      else if (name === "properties" && isObject(before) && isObject(value)) {
        const both = Object.keys(value).filter((each) => Object.hasOwn(before, each));
        if (both.some((each) => !isDeepStrictEqual(before[each], value[each]))) return schema;
        merged[name] = { ...before, ...value };
      } else if (name === "required" && Array.isArray(before) && Array.isArray(value))
        merged[name] = [...new Set([...before, ...value])];
      else if (!isDeepStrictEqual(before, value)) return schema;
    }
  return merged;
}

/** Defines a member, which may be called __proto__. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, writable: true, configurable: true });
}
