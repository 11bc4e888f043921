// Checks responses against the description that is served: the status, the media type, the body's
// schema, and the header fields.

import { Ajv2020 } from "ajv/dist/2020.js";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { routerOf } from "../../../src/http/router.ts";
import { createRow } from "../../../src/plants/create-plant.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { plantStore } from "../../support/contracts.ts";

interface DescribedResponse {
  readonly $ref?: string;
  readonly description: string;
  readonly headers?: Readonly<Record<string, object>>;
  readonly content?: {
    readonly "application/json": {
      readonly schema: object & { readonly $ref?: string };
      readonly examples: Readonly<Record<string, { readonly value: { readonly error?: number } }>>;
    };
  };
}

interface DescribedOperation {
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

const others = collectionOperations(plantStore, ["list", "delete"]);

/** With the operations that the contract does not have. */
const openapi = servedDocument(plantStore, others);

const described = openapi as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly responses?: Readonly<Record<string, DescribedResponse>> };
};

/** The responses of an operation that openapi.yaml declares, by their status or "default". */
function responsesOf(path: string, method: string): ReadonlyMap<string, DescribedResponse> {
  const responses = described.paths[path]?.[method.toLowerCase()]?.responses ?? {};
  return new Map(
    Object.entries(responses).map(([status, response]) => [
      status,
      described.components.responses?.[response.$ref?.split("/").at(-1) ?? ""] ?? response,
    ]),
  );
}

/** The responses to a create, and to what no operation is for. */
export const describedResponses = responsesOf("/plants", "POST");

const findRoute = routerOf([createRow(plantStore), ...others], "", plantStore);

/**
 * The statuses that the HTTP parser sends without a body; the description of `default` names those
 * that have no own.
 */
const bareStatuses = [400, 431, 505];

const ajv = new Ajv2020({ strict: false, validateSchema: false });
for (const [format, bits] of [
  ["int32", 32],
  ["int64", 64],
] as const)
  ajv.addFormat(format, { type: "number", validate: (value) => Math.abs(value) <= 2 ** (bits - 1) });
ajv.addSchema(openapi, "openapi");

/** Whether a value matches the schema with this name. */
export function matchesSchema(name: string, value: unknown): boolean {
  return ajv.validate({ $ref: `openapi#/components/schemas/${name}` }, value);
}

/** Fields of HTTP itself, of CORS, and for browsers, which are not described. */
const undescribed =
  /^(?:content-(?:type|length)|transfer-encoding|date|connection|x-content-type-options|vary|access-control-.*)$/;

export interface CheckedResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** In what a response differs from the one that its operation declares for its status. */
export function differences(
  { status, headers, text }: CheckedResponse,
  { method, path }: { readonly method: string; readonly path: string } = { method: "POST", path: "/plants" },
): string[] {
  const { operation } = findRoute(method, path);
  const responses =
    operation === undefined ? describedResponses : responsesOf(operation.path, operation.method);
  const own = responses.get(String(status));
  const response = own ?? responses.get("default");
  if (response === undefined || (own === undefined && !bareStatuses.includes(status)))
    return [`the status ${status} is not declared`];
  return [...bodyDifferences(response, status, headers, text), ...headerDifferences(response, headers)];
}

function bodyDifferences(
  { description, content }: DescribedResponse,
  status: number,
  headers: Headers,
  text: string,
): string[] {
  const mediaType = headers.get("content-type");
  if (bareStatuses.includes(status) && mediaType === null)
    return text === "" && /\bbare\b/.test(description) ? [] : [`a bare ${status} has a body: ${text}`];
  if (content === undefined) return text === "" ? [] : [`a ${status} has a body: ${text}`];
  if (mediaType !== "application/json") return [`the Content-Type is ${mediaType}`];
  const { schema } = content["application/json"];
  const name = schema.$ref?.split("/").at(-1);
  // The description is known to ajv by a name of its own.
  const resolved = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/'));
  const json: unknown = JSON.parse(text);
  if (!ajv.validate(resolved, json)) return [`${text} is not of the schema ${JSON.stringify(schema)}`];
  if (name === "Error" && Math.trunc((json as { error: number }).error / 100) !== status)
    return [`${text} has not the status ${status}`];
  return [];
}

function headerDifferences({ headers: declared = {} }: DescribedResponse, headers: Headers): string[] {
  const schemas = new Map(Object.keys(declared).map((name) => [name.toLowerCase(), name]));
  return [...headers]
    .filter(([name]) => !undescribed.test(name))
    .flatMap(([name, value]) => {
      const described = schemas.get(name);
      if (described === undefined) return [`the header ${name} is not declared`];
      return isOfHeaderSchema(described, value) ? [] : [`${name}: ${value} is not of its schema`];
    });
}

const { headers: namedHeaders } = (
  openapi as unknown as { components: { headers: Readonly<Record<string, { schema: { type: string } }>> } }
).components;

/** Integers are sent as digits. Headers that a response describes in place are strings. */
function isOfHeaderSchema(name: string, value: string): boolean {
  const schema = namedHeaders[name]?.schema ?? { type: "string" };
  return ajv.validate(schema, schema.type === "integer" ? Number(value) : value);
}
