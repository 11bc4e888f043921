// The interface description in OpenAPI 3.0.3, for tools that do not read 3.1.

import { isObject, type Json } from "../core/contract/json/json-values.ts";

/**
 * Converts the parts of 3.1 that 3.0 lacks, and leaves out keywords that 3.0 does not know. A
 * description that is of 3.0 keeps its version.
 */
export function toOpenApi30(openapi: object): object {
  const { webhooks, jsonSchemaDialect, ...rest } = openapi as Json;
  const converted = convertPart(rest) as { readonly components?: Json };
  const { pathItems, ...components } = converted.components ?? {};
  const version = String(rest.openapi).startsWith("3.0.") ? rest.openapi : "3.0.3";
  return { ...converted, components, openapi: version };
}

/** Parts whose keys are names, which mean nothing. */
const named = ["callbacks", "content", "headers", "parameters", "paths", "requestBodies", "responses"];

/** Parts that are the same in both versions, or the author's data. */
const kept = ["example", "examples", "links", "securitySchemes", "value"];

/** Everything that is no schema. */
function convertPart(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(convertPart);
  if (!isObject(part)) return part;
  return mapMembers(part, (member, key) => {
    if (kept.includes(key) || key.startsWith("x-")) return member;
    if (key === "schema") return convertSchema(member);
    if (key === "schemas") return mapMembers(member, convertSchema);
    if (key === "license") return convertLicense(member);
    return named.includes(key) && isObject(member) ? mapMembers(member, convertPart) : convertPart(member);
  });
}

/** A licence has no SPDX identifier in 3.0, but a URL. */
function convertLicense(license: unknown): unknown {
  if (!isObject(license) || typeof license.identifier !== "string") return license;
  const { identifier, ...rest } = license;
  const url =
    identifier === "MIT"
      ? "https://opensource.org/license/mit"
      : `https://spdx.org/licenses/${encodeURIComponent(identifier)}.html`;
  return { ...rest, url };
}

/** The keywords of schemas in 3.0. */
const keywords =
  `title multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength minLength pattern maxItems
  minItems uniqueItems maxProperties minProperties required enum type not allOf oneOf anyOf items properties
  additionalProperties description format default nullable discriminator readOnly writeOnly example externalDocs
  deprecated xml`.split(/\s+/);

function convertSchema(schema: unknown): unknown {
  if (!isObject(schema)) return schema === false ? { not: {} } : {};
  const { $ref, ...rest } = schema;
  const converted = Object.fromEntries(
    Object.entries(fromVersion31(rest))
      .filter(([keyword]) => keywords.includes(keyword) || keyword.startsWith("x-"))
      .map(([keyword, value]) => [keyword, convertKeyword(keyword, value)]),
  );
  if ($ref === undefined) return converted;
  // OpenAPI 3.0 ignores the keywords beside a reference.
  return Object.keys(converted).length === 0 ? { $ref } : { allOf: [{ $ref }], ...converted };
}

function convertKeyword(keyword: string, value: unknown): unknown {
  if (keyword === "properties") return mapMembers(value, convertSchema);
  if (/^(?:all|any|one)Of$/.test(keyword) && Array.isArray(value)) return value.map(convertSchema);
  if (keyword === "additionalProperties" && typeof value === "boolean") return value;
  return ["additionalProperties", "items", "not"].includes(keyword) ? convertSchema(value) : value;
}

/**
 * Null among types, `const`, numbers as exclusive limits, and `examples`, which is a list in
 * schemas.
 */
function fromVersion31(schema: Json): Json {
  const changed: Record<string, unknown> = { ...schema };
  const given = [schema.type ?? []].flat();
  const types = given.filter((each) => each !== "null");
  if (types.length === 1) changed.type = types[0];
  else delete changed.type;
  if (types.length < given.length) changed.nullable = true;
  if (given.length === 1 && types.length === 0) changed.enum = [null];
  if (changed.type === "array") changed.items ??= {};
  if (schema.const !== undefined) changed.enum = [schema.const];
  if (Array.isArray(schema.required) && schema.required.length === 0) delete changed.required;
  if (Array.isArray(schema.examples) && schema.examples.length > 0) changed.example ??= schema.examples[0];
  for (const [exclusive, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const)
    if (typeof schema[exclusive] === "number")
      Object.assign(changed, { [limit]: schema[exclusive], [exclusive]: true });
  return changed;
}

function mapMembers(value: unknown, map: (member: unknown, key: string) => unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, map(member, key)]));
}
