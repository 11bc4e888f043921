// From the schema of a property to the type of a field. A schema that the table does not have is
// kept as JSON and validated by ajv.

import { contractError } from "./contract-error.ts";
import { scaledDecimal, scaledInteger } from "./decimal.ts";
import { boolean, decimal, type FieldType, integer, json, nullable, oneOf, text } from "./field-types.ts";
import { int64Max, int64Min } from "./int64.ts";
import { fractionDigits, numberLimits } from "./number-schemas.ts";
import type { Place } from "./place.ts";
import { isAnnotation, isObject, type Json } from "./schemas.ts";
import { textFormat, textLimits, textPattern } from "./text-schemas.ts";

export interface TypeContext {
  readonly pointer: string;
  /** The part of a request's time that the patterns of this field may take. */
  readonly share: number;
  /** Takes a sentence about something that is not checked, or limited. */
  readonly note: (sentence: string) => void;
}

/** The context of the property with a name. */
export function contextAt(place: Place, name: string, share = 1): TypeContext {
  return { pointer: place.pointer, share, note: (sentence) => place.note(`"${name}": ${sentence}`) };
}

const limits = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "enum", "format"];

/** The keywords of each type that the table has. */
const keywords: Readonly<Record<string, readonly string[]>> = {
  string: ["minLength", "maxLength", "pattern", "enum", "format"],
  integer: limits,
  number: limits,
  boolean: [],
};

/** @param schema expanded. Rejects with an OperatorError. */
export async function fieldTypeOf(schema: Json, context: TypeContext): Promise<FieldType> {
  const { const: constant, ...rest } = schema;
  const plain =
    Object.hasOwn(schema, "const") && typeof constant === "string" ? { ...rest, enum: [constant] } : schema;
  const types = plain.type === undefined ? impliedTypes(plain) : [plain.type].flat();
  const [name, ...others] = types.filter((each) => each !== "null");
  const known = typeof name === "string" && others.length === 0 ? keywords[name] : undefined;
  const isKnown =
    known !== undefined &&
    Object.keys(plain).every((each) => each === "type" || isAnnotation(each) || known.includes(each));
  const isNullable = types.includes("null");
  const values = Array.isArray(plain.enum)
    ? plain.enum.filter((each) => !(isNullable && each === null))
    : undefined;
  if (!isKnown || (values !== undefined && !values.every((each) => typeof each === jsTypes[name as string])))
    return validatedJson(plain, context);
  const { enum: _, ...open } = plain;
  const type = await scalarType(
    name as string,
    values === undefined ? open : { ...open, enum: values },
    context,
  );
  return isNullable ? nullable(type) : type;
}

const jsTypes: Readonly<Record<string, string>> = {
  string: "string",
  integer: "number",
  number: "number",
  boolean: "boolean",
};

/** Infers "string" from an enum of strings. */
function impliedTypes({ enum: values }: Json): unknown[] {
  return Array.isArray(values) && values.length > 0 && values.every((value) => typeof value === "string")
    ? ["string"]
    : [];
}

async function scalarType(name: string, schema: Json, context: TypeContext): Promise<FieldType> {
  const { pointer, note } = context;
  if (name === "boolean") return boolean();
  if (name === "string") {
    const { enum: values, ...rest } = schema;
    if (
      rest.format !== undefined &&
      textFormat(rest.format) === undefined &&
      !freeFormats.includes(rest.format)
    )
      note(`the format ${rest.format} is not checked`);
    const { expected, accepts } = await textLimits(rest, context.share, pointer, note);
    if (!Array.isArray(values)) return text(expected, accepts);
    return oneOf((values as string[]).filter(accepts ?? (() => true)));
  }
  const { words, accepts } = numberLimits(schema, pointer);
  if (name === "integer") {
    const isInt32 = schema.format === "int32";
    const [least, greatest] = isInt32 ? [-(2n ** 31n), 2n ** 31n - 1n] : [int64Min, int64Max];
    const expected = `an integer (${isInt32 ? "int32" : "int64"})${words}`;
    const isLimited = words !== "" || isInt32;
    return integer(
      expected,
      isLimited ? (value) => value >= least && value <= greatest && accepts(scaledInteger(value)) : undefined,
    );
  }
  const digits = fractionDigits(schema.multipleOf);
  const expected =
    digits === undefined
      ? "a number of at most 38 digits"
      : `a number with at most ${digits} digits after the point`;
  return decimal(
    digits,
    expected + words,
    (value) => words === "" || accepts(scaledDecimal(value) as bigint),
  );
}

/** Formats that say how a text is shown, and restrict nothing. */
const freeFormats: readonly unknown[] = ["password", "binary", "byte"];

/** Arrays in which all items are compared with each other are limited to this. */
const comparedCodeUnitsMax = 4_096;

/** Any JSON that a schema accepts. */
async function validatedJson(schema: Json, context: TypeContext): Promise<FieldType> {
  const { pointer, share, note } = context;
  const patterns = new Set<string>();
  const found = { comparesItems: false };
  collect(schema, patterns, found, note);
  let codeUnitsMax = found.comparesItems ? comparedCodeUnitsMax : Number.POSITIVE_INFINITY;
  const compiled = new Map<string, (text: string) => boolean>();
  for (const pattern of patterns) {
    const { matches, codeUnitsMax: most } = await textPattern(pattern, share / patterns.size, pointer);
    compiled.set(pattern, matches);
    codeUnitsMax = Math.min(codeUnitsMax, most);
  }
  if (codeUnitsMax !== Number.POSITIVE_INFINITY)
    note(`a value of more than ${codeUnitsMax} UTF-16 code units is refused, as its validation takes long`);
  const accepts = await validator(schema, compiled, pointer);
  const kind = kindOf(schema);
  const restrictions =
    codeUnitsMax === Number.POSITIVE_INFINITY ? "" : ` of at most ${codeUnitsMax} characters`;
  return json(
    `${kind} that the contract's schema accepts${restrictions}`,
    (value, codeUnits) => codeUnits <= codeUnitsMax && accepts(value) === undefined,
    accepts,
  );
}

function kindOf({ type }: Json): string {
  if (type === "array") return "an array";
  return type === "object" ? "an object" : "a value";
}

/** A validator of ajv, whose patterns take linear time; it returns the first fault. */
async function validator(
  schema: Json,
  patterns: ReadonlyMap<string, (text: string) => boolean>,
  pointer: string,
): Promise<(value: unknown) => string | undefined> {
  if (
    Object.keys(schema).every((keyword) => keyword === "type" || isAnnotation(keyword)) &&
    schema.type === undefined
  )
    return () => undefined;
  // Loaded for such contracts only: it takes 20 ms.
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const regExp = Object.assign(
    (pattern: string) => ({
      // ajv caches patterns by this string.
      toString: () => pattern,
      // Only JSON Schema's own schema has other ones.
      test: (value: string) => patterns.get(pattern)?.(value) ?? new RegExp(pattern, "u").test(value),
    }),
    { code: "" },
  );
  const ajv = new Ajv2020({
    strict: false,
    ownProperties: true,
    validateFormats: true,
    logger: false,
    code: { regExp: regExp as never },
  });
  for (const name of ["date-time", "date", "uuid", "email", "uri"])
    ajv.addFormat(name, (value: string) => textFormat(name)?.accepts(value) === true);
  try {
    const validate = ajv.compile(withoutAnnotations(schema) as Json);
    return (value) => {
      if (validate(value)) return undefined;
      const { instancePath = "", message = "is not valid" } = validate.errors?.[0] ?? {};
      return instancePath === "" ? message : `${instancePath} ${message}`;
    };
  } catch (error) {
    throw contractError(pointer, `its schema is not valid JSON Schema: ${(error as Error).message}`);
  }
}

/**
 * The schema without what ajv would refuse or compile into code: formats that are not checked, and
 * examples.
 */
function withoutAnnotations(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutAnnotations);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => {
        if (name === "format" && typeof member === "string") return textFormat(member) !== undefined;
        return !isAnnotation(name) || isObject(member);
      })
      .map(([name, member]) => [
        name,
        name === "enum" || name === "const" ? member : withoutAnnotations(member),
      ]),
  );
}

/**
 * Finds the patterns of a schema, whether it compares items, and the formats that are not checked.
 */
function collect(
  value: unknown,
  patterns: Set<string>,
  found: { comparesItems: boolean },
  note: (sentence: string) => void,
): void {
  if (Array.isArray(value)) for (const item of value) collect(item, patterns, found, note);
  if (!isObject(value)) return;
  for (const [name, member] of Object.entries(value)) {
    if (name === "pattern" && typeof member === "string") patterns.add(member);
    if (name === "patternProperties" && isObject(member))
      for (const pattern of Object.keys(member)) patterns.add(pattern);
    if (name === "uniqueItems" && member === true) found.comparesItems = true;
    if (name === "format" && typeof member === "string" && textFormat(member) === undefined)
      if (!freeFormats.includes(member) && !/^(?:int32|int64|float|double)$/.test(member))
        note(`the format ${member} is not checked`);
    collect(member, patterns, found, note);
  }
}

/** Whether a schema has patterns, which share the time of a request. */
export function hasPatterns(schema: Json): boolean {
  const patterns = new Set<string>();
  collect(schema, patterns, { comparesItems: false }, () => undefined);
  return patterns.size > 0;
}
