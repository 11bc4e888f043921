// Checks the responses of a sandbox's control interface against its description.

import { Ajv2020 } from "ajv/dist/2020.js";
import { controlDocument } from "../../src/sandbox/control-document.ts";

interface DescribedResponse {
  readonly $ref?: string;
  readonly content?: Readonly<Record<string, { readonly schema: object }>>;
}

interface DescribedOperation {
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

const { paths, components } = controlDocument as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>;
  readonly components: { readonly responses: Readonly<Record<string, DescribedResponse>> };
};

/** The description of control, by the id `control:`. */
const ajv = new Ajv2020({ strict: false, validateSchema: false, logger: false, ownProperties: true });
ajv.addFormat("int64", {
  type: "number",
  validate: (value) => Number.isInteger(value) && Math.abs(value) <= 2 ** 63,
});
ajv.addFormat("date-time", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/);
ajv.addFormat("regex", true);
ajv.addFormat("uri", (text) => URL.canParse(text));
ajv.addSchema({ ...controlDocument, $id: "control:" });

/** The operations, each as its method and its path: `GET /sandbox/{collection}/{id}`. */
export const describedOperations = Object.entries(paths).flatMap(([path, operations]) =>
  Object.keys(operations)
    .filter((method) => method !== "parameters")
    .map((method) => `${method.toUpperCase()} ${path}`),
);

/** The operation of a request; undefined if none is described. The paths of collections match others. */
function findOperation(method: string, path: string): DescribedOperation | undefined {
  const isOfCollection = ([template]: readonly [string, unknown]) => template.includes("{collection}");
  const byPlace = Object.entries(paths).toSorted(
    (one, other) => Number(isOfCollection(one)) - Number(isOfCollection(other)),
  );
  const match = byPlace.find(
    ([template, operations]) =>
      method.toLowerCase() in operations &&
      new RegExp(`^${template.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  return match?.[1][method.toLowerCase()];
}

/** The differences of a response from its description. An undescribed request must get an error. */
export function controlDifferences(
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
  return ajv.validate(pointed, JSON.parse(text)) ? [] : [`${method} ${path}: ${ajv.errorsText()} in ${text}`];
}
