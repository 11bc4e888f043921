// Changes a description to that of requests, or of responses: without the readOnly properties that
// a request need not have, or without the writeOnly ones that a response must not have.

import type { OpenApiDocument } from "../../contract/contract.ts";
import { referencedMembers } from "../../json/json-pointer.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { requiredOf } from "../../openapi/schema/restrictions.ts";

export type Direction = "request" | "response";

/** Changes the objects with properties, wherever they are: data with a property `readOnly` is rare. */
export function documentFor(document: OpenApiDocument, direction: Direction): OpenApiDocument {
  const keyword = direction === "request" ? "readOnly" : "writeOnly";
  const isHidden = (schema: unknown): boolean => {
    if (!isObject(schema)) return false;
    const target = typeof schema.$ref === "string" ? valueAt(document, schema.$ref) : undefined;
    return schema[keyword] === true || (isObject(target) && target[keyword] === true);
  };
  const change = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(change);
    if (!isObject(part)) return part;
    const changed = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, change(value)]));
    const { properties } = part;
    if (!isObject(properties)) return changed;
    const hidden = Object.keys(properties).filter((name) => isHidden(properties[name]));
    if (hidden.length === 0) return changed;
    const excluded = Object.fromEntries(hidden.map((name) => [name, false]));
    return {
      ...changed,
      ...(part.required !== undefined && {
        required: requiredOf(part).filter((name) => !hidden.includes(String(name))),
      }),
      ...(direction === "response" && { properties: { ...(changed.properties as Json), ...excluded } }),
    };
  };
  return change(document) as OpenApiDocument;
}

function valueAt(document: Json, reference: string): unknown {
  return referencedMembers(reference).reduce<unknown>(
    (parent, name) => (isObject(parent) && Object.hasOwn(parent, name) ? parent[name] : undefined),
    document,
  );
}
