// Values of any shape: ajv validates them. Patterns and uniqueItems, which could take more than linear
// time, are limited; all else takes time in proportion to the value and to the schema, which is the
// author's.

import { contractError } from "../description/contract-error.ts";
import { type FieldType, json } from "../values/stored-types.ts";
import { isObject, type Json, restrictionsOf } from "./schemas.ts";
import { isUncheckedFormat, textFormat, textPattern } from "./text-schemas.ts";
import type { TypeContext } from "./type-context.ts";

/** Arrays in which all items are compared with each other are limited to this. */
const comparedCodeUnitsMax = 4_096;

/** Any JSON that a schema accepts. */
export async function validatedJson(schema: Json, context: TypeContext): Promise<FieldType<string>> {
  const { pointer, share, note } = context;
  const restrictions = restrictionsOf(schema);
  const { patterns, comparesItems, uncheckedFormats } = findChecks(restrictions);
  for (const format of uncheckedFormats) note(`the format ${format} is not checked`);
  let codeUnitsMax = comparesItems ? comparedCodeUnitsMax : Number.POSITIVE_INFINITY;
  const compiled = new Map<string, (text: string) => boolean>();
  for (const pattern of patterns) {
    const { matches, codeUnitsMax: most } = await textPattern(pattern, share / patterns.size, pointer);
    compiled.set(pattern, matches);
    codeUnitsMax = Math.min(codeUnitsMax, most);
  }
  const isLimited = codeUnitsMax !== Number.POSITIVE_INFINITY;
  if (isLimited)
    note(`a value of more than ${codeUnitsMax} UTF-16 code units is refused, as its validation takes long`);
  const fault = await validator(restrictions, compiled, pointer);
  const length = isLimited ? ` of at most ${codeUnitsMax} characters` : "";
  return json(`${kindOf(schema)} that the contract's schema accepts${length}`, fault, codeUnitsMax);
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
  if (Object.keys(schema).length === 0) return () => undefined;
  // Loaded for such contracts only: it takes 20 ms.
  const { Ajv2020 } = await import("ajv/dist/2020.js");
  const regExp = Object.assign(
    (pattern: string) => ({
      // ajv caches patterns by this string.
      toString: () => pattern,
      // Other patterns are those of the meta-schema.
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
    const validate = ajv.compile(schema);
    return (value) => {
      if (validate(value)) return undefined;
      const { instancePath = "", message = "is not valid" } = validate.errors?.[0] ?? {};
      return instancePath === "" ? message : `${instancePath} ${message}`;
    };
  } catch (error) {
    throw contractError(pointer, `its schema is not valid JSON Schema: ${(error as Error).message}`);
  }
}

/** The parts of a schema that take time, or are not checked. */
interface Checks {
  readonly patterns: Set<string>;
  readonly uncheckedFormats: Set<string>;
  comparesItems: boolean;
}

function findChecks(
  value: unknown,
  found: Checks = { patterns: new Set(), uncheckedFormats: new Set(), comparesItems: false },
): Checks {
  if (Array.isArray(value)) for (const item of value) findChecks(item, found);
  if (!isObject(value)) return found;
  for (const [name, member] of Object.entries(value)) {
    if (name === "pattern" && typeof member === "string") found.patterns.add(member);
    if (name === "patternProperties" && isObject(member))
      for (const pattern of Object.keys(member)) found.patterns.add(pattern);
    if (name === "uniqueItems" && member === true) found.comparesItems = true;
    if (name === "format" && typeof member === "string" && isUncheckedFormat(member))
      if (!/^(?:int32|int64|float|double)$/.test(member)) found.uncheckedFormats.add(member);
    if (name !== "enum" && name !== "const") findChecks(member, found);
  }
  return found;
}

/** Whether a schema has patterns, which share the time of a request. */
export function hasPatterns(schema: Json): boolean {
  return findChecks(restrictionsOf(schema)).patterns.size > 0;
}
