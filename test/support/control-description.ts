// Checks the responses of a sandbox's control interface against its description.

import { Ajv2020 } from "ajv/dist/2020.js";
import { controlDocument } from "../../src/sandbox/control-document.ts";
import { plantStore, type SingleContract } from "./contracts.ts";

interface DescribedResponse {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface DescribedOperation {
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

const { paths, components } = controlDocument(plantStore) as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, DescribedResponse>> };
};

const schemas = new Map<SingleContract, Ajv2020>();

/** The description of control for a contract, by the id `control:`. */
function schemasOf(collection: SingleContract): Ajv2020 {
  const known = schemas.get(collection);
  if (known !== undefined) return known;
  const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false, ownProperties: true });
  ajv.addFormat("int64", {
    type: "number",
    validate: (value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63,
  });
  ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/);
  ajv.addFormat("regex", true);
  ajv.addFormat("uri", (text) => URL.canParse(text));
  ajv.addSchema({ ...controlDocument(collection), $id: "control:" });
  schemas.set(collection, ajv);
  return ajv;
}

/** The operations, each as its method and its path: `GET /sandbox/plants/{id}`. */
export const describedOperations = Object.entries(paths).flatMap(([path, operations]) =>
  Object.keys(operations)
    .filter((method) => method !== "parameters")
    .map((method) => `${method.toUpperCase()} ${path}`),
);

/** The operation of a request; undefined if none is described. */
function findOperation(method: string, path: string): DescribedOperation | undefined {
  const match = Object.entries(paths).find(
    ([template, operations]) =>
      method.toLowerCase() in operations &&
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  return match?.[1][method.toLowerCase()];
}

/** The differences of a response from its description. An undescribed request must get an error. */
export function controlDifferences(
  collection: SingleContract,
  method: string,
  path: string,
  { status, headers, text }: { readonly status: number; readonly headers: Headers; readonly text: string },
): string[] {
  const { responses } = findOperation(method, path) ?? { responses: {} };
  const named = responses[status] ?? (status >= 400 ? components.responses.Error : undefined);
  if (named === undefined) return [`${method} ${path}: the status ${status} is not described`];
  const { content } = components.responses[named.$ref?.split("/").at(-1) ?? ""] ?? named;
  const type = headers.get("content-type");
  if (content === undefined)
    return text === "" && type === null ? [] : [`${method} ${path}: a ${status} has a body`];
  const schema = content[type ?? ""]?.schema;
  if (schema === undefined) return [`${method} ${path}: the Content-Type is ${type}`];
  if (type !== "application/json") return [];
  const pointed = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"control:#/'));
  const ajv = schemasOf(collection);
  return ajv.validate(pointed, JSON.parse(text)) ? [] : [`${method} ${path}: ${ajv.errorsText()} in ${text}`];
}
