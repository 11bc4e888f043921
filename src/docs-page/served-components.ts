// Adds the components of the served document: header fields, the schema of errors, security
// schemes, and the texts of the resource. All of it is valid in OpenAPI 3.0 as well, where schemas
// have no `examples`: a description is served in the version that it was written in.

import type { Collection } from "../contract/contract.ts";
import { isText } from "../contract/stored-types.ts";
import { requiredOf } from "../openapi/schema/restrictions.ts";
import { jsonMedia, type ResponseObject, type Schema } from "./description.ts";
import type { Draft, Mutable } from "./draft.ts";

const headers = {
  "Cache-Control": {
    description: "Errors must not be stored by caches.",
    schema: { type: "string" },
    example: "no-store",
  },
  "X-Request-Id": {
    description: `The id of the request in the server's log: the X-Request-Id of the request, or the trace id of its traceparent,
if well-formed; otherwise generated.`,
    schema: { type: "string" },
    example: "4fzyo82m-1c",
  },
  "RateLimit-Policy": {
    description: `The token's quota (q) and window in seconds (w), if the operator has set a rate
(draft-ietf-httpapi-ratelimit-headers-11).`,
    schema: { type: "string" },
    example: '"token";q=50;w=5',
  },
  RateLimit: {
    description: "The remaining quota of the token (r), and the seconds until the quota is reset (t).",
    schema: { type: "string" },
    example: '"token";r=49;t=5',
  },
  "Retry-After": {
    description: "Seconds to wait before sending the request again.",
    schema: { type: "integer", format: "int32" },
    example: 1,
  },
};

const errorSchema: Schema = {
  type: "object",
  description: "What was wrong, and what would be right.",
  required: ["error", "message"],
  properties: {
    error: {
      type: "integer",
      format: "int32",
      description: "Numeric error value, the HTTP status times 100 plus a detail.",
      example: 40002,
    },
    message: { type: "string", description: "Error message text." },
  },
};

/** Reference header fields of the components, by their names. */
export function headerReferences(names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Adds the header fields of the server, unless the author describes them. */
export function addHeaders({ document }: Draft): void {
  const { components } = document;
  document.components = { ...components, headers: { ...headers, ...components.headers } };
}

/** Replaces references to security schemes, which the page looks up by name. */
export function resolveSecuritySchemes(draft: Draft): void {
  const { components } = draft.document;
  const schemes = Object.entries(components.securitySchemes ?? {});
  if (schemes.length === 0) return;
  const securitySchemes = Object.fromEntries(
    schemes.map(([name, scheme]) => [name, draft.resolve(scheme) ?? {}]),
  );
  draft.document.components = { ...components, securitySchemes };
}

/** Returns the name of the schema of errors, which is the author's if it has the shape of ours. */
export function addErrorSchema({ contract, document }: Draft): string {
  const schemas = document.components.schemas as Record<string, Schema | null>;
  const { schema: described } = contract.errors.shape;
  const named = /^#\/components\/schemas\/([^/]+)$/.exec(String(described?.$ref))?.[1];
  if (named !== undefined) return named;
  const own = Object.entries(schemas).find(
    ([, schema]) =>
      schema?.properties?.error?.type === "integer" &&
      schema.properties.message?.type === "string" &&
      requiredOf({ ...schema }).every((name) => name === "error" || name === "message"),
  );
  if (own !== undefined) return own[0];
  let name = "Error";
  while (Object.hasOwn(schemas, name)) name = `Server${name}`;
  schemas[name] = described ?? errorSchema;
  return name;
}

/** Adds the pattern of what can be stored to the texts of the resources that have none. */
export function restrictTexts(draft: Draft): void {
  for (const collection of draft.contract.collections) restrictTextsOf(draft, collection);
}

function restrictTextsOf(draft: Draft, collection: Collection): void {
  const texts = collection.fields.filter(({ type }) => isText(type)).map(({ name }) => name);
  const restrict = (part: Schema | undefined, depth: number) => {
    const schema = draft.resolve(part);
    if (schema === undefined || depth > 8) return;
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      const text: Mutable<Schema> | null = property;
      const isFree = text?.type === "string" && text.pattern === undefined && text.enum === undefined;
      if (isFree && text.format === undefined && texts.includes(name)) text.pattern = "^[^\\x00]*$";
    }
    for (const each of schema.allOf ?? []) restrict(each, depth + 1);
  };
  const { requestBody, responses = {} } = draft.createOf(collection);
  for (const part of [requestBody, ...Object.values(responses)] as (ResponseObject | undefined)[])
    restrict(jsonMedia(draft.resolve(part)?.content)?.[1].schema, 0);
}
