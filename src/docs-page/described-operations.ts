// The interface description with the operations that openapi.yaml does not have.

import openapi from "../../openapi.yaml";
import { errorRegistry } from "../core/contract/errors.ts";
import type { Operation } from "../core/http/operation.ts";

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
function describe({ operationId, path, described }: Operation): object {
  if (described === undefined) throw new Error(`openapi.yaml does not describe ${operationId}`);
  const { summary, description, parameters, body, responses } = described;
  const failures = Object.entries(create?.responses ?? {}).filter(
    ([status]) => status !== "200" && (body !== undefined || !bodyStatuses.includes(status)),
  );
  return {
    tags: ["plants"],
    operationId,
    summary,
    description,
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
      requestBody: { required: true, content: { "application/json": { schema: body } } },
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
