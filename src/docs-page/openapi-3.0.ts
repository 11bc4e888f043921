// The interface description in OpenAPI 3.0.3, for tools that do not read 3.1.

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** URLs of licences: 3.0 has no SPDX identifiers. */
const licenseUrls: Readonly<Record<string, string>> = { MIT: "https://opensource.org/license/mit" };

/**
 * Converts the parts of 3.1 that 3.0 lacks: `examples` of a schema, a list, is `example` in 3.0,
 * and a licence has no `identifier`. The maps of named examples are the same in both.
 */
export function toOpenApi30(openapi: object): object {
  return { ...(convert(openapi as Json) as object), openapi: "3.0.3" };
}

function convert(value: Json): Json {
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(convert);
  return Object.fromEntries(Object.entries(value).map(([key, member]) => convertMember(key, member)));
}

function convertMember(key: string, value: Json): [key: string, value: Json] {
  if (key === "examples" && Array.isArray(value)) return ["example", value[0] ?? null];
  if (key === "identifier" && typeof value === "string") return ["url", licenseUrls[value] ?? ""];
  return [key, convert(value)];
}
