// From the schema of a property to the type of a field. A schema that the table does not have is
// kept as JSON and validated by ajv.

import { type Scaled, scaledDecimal, scaledInteger } from "../values/decimal.ts";
import { int64Max, int64Min } from "../values/int64.ts";
import { boolean, decimal, type FieldType, integer, nullable, oneOf, text } from "../values/stored-types.ts";
import { validatedJson } from "./json-schemas.ts";
import { fractionDigits, numberLimits } from "./number-schemas.ts";
import { isAnnotation, type Json } from "./schemas.ts";
import { isUncheckedFormat, textLimits } from "./text-schemas.ts";
import type { TypeContext } from "./type-context.ts";

interface Scalar {
  /** The keywords that its schema may have besides annotations. */
  readonly keywords: readonly string[];
  /** The typeof of the values in its enum. */
  readonly valueType: "string" | "number" | "boolean";
  read(schema: Json, context: TypeContext): FieldType | Promise<FieldType>;
}

const limits = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "format"];

const scalars: ReadonlyMap<unknown, Scalar> = new Map<unknown, Scalar>([
  [
    "string",
    {
      keywords: ["minLength", "maxLength", "pattern", "enum", "format"],
      valueType: "string",
      read: textType,
    },
  ],
  ["integer", { keywords: limits, valueType: "number", read: integerType }],
  ["number", { keywords: limits, valueType: "number", read: decimalType }],
  ["boolean", { keywords: [], valueType: "boolean", read: boolean }],
]);

/** @param schema expanded. Rejects with an OperatorError. */
export async function fieldTypeOf(schema: Json, context: TypeContext): Promise<FieldType> {
  const { const: constant, ...rest } = schema;
  const plain = typeof constant === "string" ? { ...rest, enum: [constant] } : schema;
  const types = plain.type === undefined ? impliedTypes(plain) : [plain.type].flat();
  const [name, ...others] = types.filter((each) => each !== "null");
  const isNullable = types.includes("null");
  const values = Array.isArray(plain.enum)
    ? plain.enum.filter((each) => !(isNullable && each === null))
    : undefined;
  const scalar = others.length === 0 ? scalars.get(name) : undefined;
  const isKnown =
    scalar !== undefined &&
    Object.keys(plain).every(
      (each) => each === "type" || isAnnotation(each) || scalar.keywords.includes(each),
    ) &&
    (values ?? []).every((each) => typeof each === scalar.valueType);
  if (!isKnown) return validatedJson(plain, context);
  const type = await scalar.read({ ...plain, enum: values }, context);
  return isNullable ? nullable(type) : type;
}

/** Infers "string" from an enum of strings. */
function impliedTypes({ enum: values }: Json): unknown[] {
  return Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === "string")
    ? ["string"]
    : [];
}

async function textType(schema: Json, context: TypeContext): Promise<FieldType<string>> {
  if (isUncheckedFormat(schema.format)) context.note(`the format ${schema.format} is not checked`);
  const { expected, accepts } = await textLimits(schema, context);
  if (!Array.isArray(schema.enum)) return text(expected, accepts);
  return oneOf(schema.enum.filter(accepts ?? (() => true)));
}

function integerType(schema: Json, { pointer }: TypeContext): FieldType<bigint> {
  const { words, accepts } = numberLimits(schema, pointer);
  const isInt32 = schema.format === "int32";
  const [least, greatest] = isInt32 ? [-(2n ** 31n), 2n ** 31n - 1n] : [int64Min, int64Max];
  const isLimited = words !== "" || isInt32;
  return integer(
    `an integer (${isInt32 ? "int32" : "int64"})${words}`,
    isLimited ? (value) => value >= least && value <= greatest && accepts(scaledInteger(value)) : undefined,
  );
}

function decimalType(schema: Json, { pointer }: TypeContext): FieldType<string> {
  const { words, accepts } = numberLimits(schema, pointer);
  const digits = fractionDigits(schema.multipleOf);
  const expected =
    digits === undefined
      ? "a number of at most 38 digits"
      : `a number with at most ${digits} digits after the point`;
  return decimal(
    digits,
    expected + words,
    (value) => words === "" || accepts(scaledDecimal(value) as Scaled),
  );
}
