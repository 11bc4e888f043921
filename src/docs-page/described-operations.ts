// The interface description with the operations that openapi.yaml does not have.

import openapi from "../../openapi.yaml";
import { errorRegistry } from "../core/contract/errors.ts";
import type { DescribedParameters, Operation } from "../core/http/operation.ts";
import { codeSamples } from "./code-samples.ts";

/** The address in openapi.yaml that is replaced by this server's. */
export const placeholder = openapi.servers[0]?.url ?? "";

type Responses = Readonly<Record<string, object>>;

const create = (openapi as unknown as { paths: Record<string, Record<string, { responses: Responses }>> })
  .paths["/plants"]?.post;

/** Failures that an operation has if it reads a body. */
const bodyStatuses = ["408", "413", "415"];

const { error, meaning } = errorRegistry.invalidParameter;

/** Header fields of every response. */
const headers = Object.fromEntries(
  ["X-Request-Id", "Cache-Control", "RateLimit", "RateLimit-Policy"].map((name) => [
    name,
    { $ref: `#/components/headers/${name}` },
  ]),
);

const badParameter = {
  description: `${error}: ${meaning.toLowerCase()}.`,
  headers,
  content: { "application/json": { schema: { $ref: "#/components/schemas/Error" } } },
};

/** The description of openapi.yaml with further operations. */
export function describeOperations(operations: readonly Operation[]): typeof openapi {
  const paths: Record<string, object> = { ...openapi.paths };
  for (const operation of operations) {
    const { method, path } = operation;
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation) };
  }
  if (operations.length === 0) return openapi;
  const row = `| ${error} | ${meaning} | Correct the parameters that the message names. |\n`;
  const description = openapi.info.description.replace(/^.*\| 40009 /m, (next: string) => row + next);
  return { ...openapi, info: { ...openapi.info, description }, paths };
}

/** An Operation Object. Its failures are those of the create, but for the parameters. */
function describe({ operationId, method, path, described }: Operation): object {
  if (described === undefined) throw new Error(`openapi.yaml does not describe ${operationId}`);
  const { summary, description, parameters, body, responses } = described;
  const example = body === undefined ? undefined : exampleOf(body);
  const failures = Object.entries(create?.responses ?? {}).filter(
    ([status]) => status !== "200" && (body !== undefined || !bodyStatuses.includes(status)),
  );
  return {
    tags: ["plants"],
    operationId,
    summary,
    description,
    "x-codeSamples": codeSamples({
      method,
      url: placeholder + sampleTarget(path, parameters),
      body: example,
    }),
    parameters: Object.entries(parameters).map(([name, parameter]) => {
      const isInPath = path.includes(`{${name}}`);
      return {
        name,
        in: isInPath ? "path" : "query",
        required: parameter.whenAbsent === undefined,
        description: parameter.description,
        schema: parameter.schema,
      };
    }),
    ...(body !== undefined && {
      requestBody: {
        required: true,
        content: {
          "application/json": { schema: body, examples: { [operationId]: { summary, value: example } } },
        },
      },
    }),
    responses: {
      ...Object.fromEntries(
        Object.entries(responses).map(([status, response]) => [
          status,
          { ...response, headers: { ...headers, ...response.headers } },
        ]),
      ),
      ...Object.fromEntries(failures),
      ...(body === undefined && { 400: badParameter }),
    },
  };
}

/** A path with values for its parameters, and with the query parameters that are required. */
function sampleTarget(path: string, parameters: DescribedParameters): string {
  const query = new URLSearchParams();
  let target = path;
  for (const [name, { schema, whenAbsent }] of Object.entries(parameters)) {
    const value = String(exampleOf(schema));
    if (path.includes(`{${name}}`)) target = target.replace(`{${name}}`, () => encodeURIComponent(value));
    else if (whenAbsent === undefined) query.set(name, value);
  }
  return query.size === 0 ? target : `${target}?${query}`;
}

/** A part of the description. */
export interface Described {
  readonly $ref?: string;
  readonly description?: string;
}

/** A part of JSON Schema. */
export interface Schema extends Described {
  readonly type?: string;
  readonly format?: string;
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly allOf?: readonly Schema[];
}

/** A value of a schema, of its examples where it has some. */
function exampleOf(schema: Schema): unknown {
  if (schema.$ref !== undefined)
    return exampleOf(openapi.components.schemas[schema.$ref.split("/").at(-1) ?? ""] as Schema);
  const given = [...(schema.examples ?? []), schema.default, ...(schema.enum ?? [])];
  const example = given.find((value) => value !== undefined);
  if (example !== undefined) return example;
  if (schema.properties !== undefined || schema.allOf !== undefined)
    // The properties that a schema adds to another one come first, such as the id of a NewPlant.
    return Object.assign(
      mapValues(schema.properties ?? {}, exampleOf),
      ...(schema.allOf ?? []).toReversed().map(exampleOf),
    );
  if (schema.type === "array") return schema.items === undefined ? [] : [exampleOf(schema.items)];
  if (schema.type === "boolean") return true;
  return schema.type === "string" ? "text" : Math.max(1, schema.minimum ?? 1);
}

function mapValues<Value, Result>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}
