// The check of a JSON value against a schema of openapi-control.yaml, which is the one source of
// what control accepts. ajv's generated code for these few keywords would be 2,000 lines, and its
// errors are not sentences.

import { BadRequestError } from "../console/responses.ts";
import { toExactJson } from "../core/contract/exact-json.ts";
import document from "./openapi-control.yaml";

/** The keywords that are checked: a test asserts that the schemas of bodies have no others. */
interface Schema {
  readonly $ref?: string;
  readonly type?: "object" | "array" | "string" | "integer" | "number" | "boolean";
  /** `int64` and `date-time` are checked; a bigint is an integer. */
  readonly format?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly pattern?: string;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: false | Schema;
  readonly propertyNames?: Schema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly readOnly?: boolean;
  readonly examples?: readonly unknown[];
}

const schemas = document.components.schemas as unknown as Readonly<Record<string, Schema>>;

/**
 * Returns a body that a schema of the document allows. Throws a BadRequestError that names the field,
 * and says what is right.
 */
export function parseDescribed<Described>(body: unknown, schemaName: string): Described {
  assertValue(body, { $ref: `#/components/schemas/${schemaName}` }, "");
  return body as Described;
}

function assertValue(value: unknown, reference: Schema, name: string): void {
  const schema = resolve(reference);
  if (!isOfType(value, schema)) throw invalidValue(name, describeSchema(schema), value);
  if (Array.isArray(value))
    for (const [index, item] of value.entries()) assertValue(item, schema.items ?? {}, `${name}[${index}]`);
  else if (schema.type === "object") assertObject(value as object, schema, name);
}

function assertObject(value: object, schema: Schema, name: string): void {
  const { properties = {}, additionalProperties = {}, required = [], propertyNames } = schema;
  const pathOf = (field: string) => (name === "" ? field : `${name}.${field}`);
  for (const field of required)
    if (!Object.hasOwn(value, field))
      throw new BadRequestError(
        `${pathOf(field)} is missing; it must be ${describeSchema(resolve(properties[field] ?? {}))}.`,
      );
  for (const [field, member] of Object.entries(value)) {
    const isKnown = Object.hasOwn(properties, field);
    if (isKnown) assertValue(member, properties[field] ?? {}, pathOf(field));
    else if (additionalProperties === false)
      throw new BadRequestError(`${pathOf(field)} is unknown; the fields there are ${fieldsOf(schema)}.`);
    else {
      if (propertyNames !== undefined && !isOfType(field, propertyNames))
        throw new BadRequestError(
          `${name} has ${JSON.stringify(field)}, which must be ${describeSchema(propertyNames)}.`,
        );
      assertValue(member, additionalProperties, `${name}[${JSON.stringify(field)}]`);
    }
  }
  const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = schema;
  const count = Object.keys(value).length;
  if (count < minProperties || count > maxProperties)
    throw new BadRequestError(
      `${name === "" ? "The body" : name} must have ${maxProperties === 1 ? "one" : "at least one"} of ${fieldsOf(schema)}.`,
    );
}

function resolve(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : resolve(schemas[schema.$ref.split("/").at(-1) ?? ""] ?? {});
}

/** Whether a value has the type and range of a schema; members and items are not looked at. */
function isOfType(value: unknown, schema: Schema): boolean {
  const { type, format, minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY } = schema;
  if (schema.enum !== undefined) return schema.enum.includes(value);
  switch (type) {
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    case "array":
      return (
        Array.isArray(value) &&
        value.length >= (schema.minItems ?? 0) &&
        value.length <= (schema.maxItems ?? Number.POSITIVE_INFINITY)
      );
    case "string":
      return (
        typeof value === "string" &&
        (schema.pattern === undefined || new RegExp(schema.pattern).test(value)) &&
        (format !== "date-time" || isTime(value))
      );
    case "integer":
    case "number": {
      if (typeof value === "bigint")
        return format === "int64" ? BigInt.asIntN(64, value) === value : value >= minimum && value <= maximum;
      if (typeof value !== "number" || (type === "integer" && !Number.isSafeInteger(value))) return false;
      return value >= minimum && value <= maximum;
    }
    case "boolean":
      return typeof value === "boolean";
    default:
      return true;
  }
}

/** RFC 3339, with a time zone. */
function isTime(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;
  return time.test(text) && !Number.isNaN(Date.parse(text));
}

/** Says what a value must be, such as "an integer from 1 to 100". */
function describeSchema(schema: Schema): string {
  const { type, format, minimum, maximum, examples, minItems, maxItems } = schema;
  const example = examples === undefined ? "" : `, such as ${JSON.stringify(examples[0])}`;
  const range = maximum === undefined ? "" : ` from ${minimum ?? 0} to ${maximum}`;
  if (schema.enum !== undefined)
    return `one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`;
  switch (type) {
    case "object":
      return `an object${example}`;
    case "array": {
      const items = schema.items === undefined ? "" : ` of ${resolve(schema.items).type}s`;
      const count = minItems === maxItems ? ` of length ${minItems}` : ` of at most ${maxItems} items`;
      return `an array${maxItems === undefined ? items : count}${example}`;
    }
    case "string": {
      const pattern = schema.pattern === undefined ? "" : ` that matches ${schema.pattern}`;
      return `a string${format === undefined ? pattern : ` (${format})`}${example}`;
    }
    case "integer":
      return `an integer${format === undefined ? range : ` (${format})`}`;
    case "boolean":
      return "true or false";
    default:
      return `a ${type}${range}`;
  }
}

function fieldsOf({ properties = {} }: Schema): string {
  return Object.keys(properties)
    .filter((field) => properties[field]?.readOnly !== true)
    .join(", ");
}

const shownChars = 100;

export function invalidValue(name: string, expected: string, value: unknown): BadRequestError {
  const text = toExactJson(value);
  const shown = text.length > shownChars ? `${text.slice(0, shownChars)}…` : text;
  return new BadRequestError(`${name === "" ? "The body" : name} must be ${expected}, but is ${shown}.`);
}
