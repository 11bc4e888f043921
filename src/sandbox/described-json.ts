// The check of a JSON body against a schema of openapi-control.yaml, which is the one source of what
// control accepts.

import type { Ajv2020, ErrorObject } from "ajv/dist/2020.js";
import { BadRequestError } from "../console/responses.ts";
import document from "./openapi-control.yaml";

/** The parts of a schema that a message tells. */
interface Schema {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly oneOf?: readonly { readonly required: readonly string[] }[];
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly maxProperties?: number;
  readonly properties?: Readonly<Record<string, { readonly readOnly?: boolean }>>;
  readonly examples?: readonly unknown[];
}

let loading: Promise<Ajv2020> | undefined;

/** Loaded late: it would take 25 ms of each start. */
async function loadSchemas(): Promise<Ajv2020> {
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const ajv = new Ajv2020({
    verbose: true,
    strict: false,
    validateSchema: false,
    formats: { "date-time": isTime, int64: true, regex: isPattern },
  });
  return ajv.addSchema({ ...document, $id: "control" });
}

/**
 * Returns a body that a schema of the document allows. Rejects with a BadRequestError that names the
 * field, and says what is right.
 */
export async function parseDescribed<Described>(body: unknown, schemaName: string): Promise<Described> {
  loading ??= loadSchemas();
  const ajv = await loading;
  const validate = ajv.getSchema(`control#/components/schemas/${schemaName}`);
  if (validate === undefined) throw new Error(`openapi-control.yaml has no schema ${schemaName}`);
  const isValid = validate(JSON.parse(JSON.stringify(body, toNumber)));
  // A member of several alternatives has an error of its own before that of all.
  const error = validate.errors?.at(-1);
  if (!isValid && error !== undefined) throw new BadRequestError(describeError(error));
  return body as Described;
}

/** The schemas know no bigint. One that is no int64 becomes a string, which they reject. */
function toNumber(_: string, value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  return BigInt.asIntN(64, value) === value ? Number(value) : String(value);
}

function describeError(error: ErrorObject): string {
  const { keyword, instancePath, schemaPath, data } = error;
  const { missingProperty, additionalProperty, property, propertyName } = error.params;
  const schema = (error.parentSchema ?? {}) as Schema;
  const name = instancePath
    .replaceAll(/\/(\d+)/g, "[$1]")
    .replaceAll("/", ".")
    .replace(/^\./, "");
  const subject = name === "" ? "The body" : name;
  const memberName = (member: string) => (name === "" ? member : `${name}.${member}`);
  switch (keyword) {
    case "required":
      return `${memberName(missingProperty)} is missing; the fields there are ${fieldsOf(schema)}.`;
    case "additionalProperties":
      return `${memberName(additionalProperty)} is unknown; the fields there are ${fieldsOf(schema)}.`;
    case "minProperties":
    case "maxProperties":
      return `${subject} must have ${schema.maxProperties === 1 ? "one" : "at least one"} of ${fieldsOf(schema)}.`;
    case "oneOf":
      return `${subject} must have one of ${schema.oneOf?.flatMap(({ required }) => required).join(", ")}.`;
    case "dependentRequired":
      return `${memberName(property)} needs ${missingProperty}.`;
    case "false schema":
      return `${subject} and ${/dependentSchemas\/(\w+)/.exec(schemaPath)?.[1]} exclude each other. Remove one.`;
    case "propertyNames":
      return `${subject} cannot have the name ${JSON.stringify(propertyName)}.`;
    default:
      return `${subject} must be ${describeSchema(schema)}, but is ${preview(data)}.`;
  }
}

/** RFC 3339, with a time zone. */
function isTime(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;
  return time.test(text) && !Number.isNaN(Date.parse(text));
}

function isPattern(text: string): boolean {
  try {
    new RegExp(text, "u");
    return true;
  } catch {
    return false;
  }
}

/** Says what a value must be, such as "an integer from 1 to 100". */
function describeSchema(schema: Schema): string {
  const { type, format, pattern, minimum, maximum, examples, minItems, maxItems } = schema;
  const example = examples === undefined ? "" : `, such as ${JSON.stringify(examples[0])}`;
  const range = maximum === undefined ? "" : ` from ${minimum ?? 0} to ${maximum}`;
  const kind = format === undefined ? "" : ` (${format})`;
  if (schema.enum !== undefined)
    return `one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`;
  if (typeof type === "object") return `of the type ${type.join(", ")}`;
  switch (type) {
    case "array":
      return `an array${minItems === maxItems ? ` of length ${minItems}` : ` of at most ${maxItems} items`}${example}`;
    case "string":
      return `a string${kind}${pattern === undefined ? "" : ` that matches ${pattern}`}${example}`;
    case "boolean":
      return "true or false";
    case "object":
    case "integer":
      return `an ${type}${format === undefined ? range : kind}${example}`;
    default:
      return `a ${type}${range}`;
  }
}

function fieldsOf({ properties = {} }: Schema): string {
  return Object.keys(properties)
    .filter((field) => properties[field]?.readOnly !== true)
    .join(", ");
}

const previewLength = 100;

function preview(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > previewLength ? `${text.slice(0, previewLength)}…` : text;
}
