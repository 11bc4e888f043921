// NewPlant and Plant: the way from the bytes of a body to a NewPlant, and back to JSON.

import { ApiError } from "./errors.ts";
import type { ColumnValue } from "./field-types.ts";
import {
  type FieldName,
  type FieldValue,
  fieldNames,
  fieldsEqual,
  fieldValue,
  isRequired,
  type Plant,
  type PlantColumns,
  sample,
  typeOf,
} from "./fields.ts";
import { parseInt64, parseJsonInt64 } from "./int64.ts";
import { positionOf, scanJson } from "./json-scanner.ts";
import { decodeUtf8, validUtf8Prefix } from "./utf8.ts";

export type { Plant };

/** A plant as it is sent and stored, without U+0000 and unpaired surrogates. */
export type NewPlant = Plant & { readonly id: bigint };

/** The NewPlant with an id, and with the columns that are not null. */
export function toNewPlant<Id extends bigint | string>(
  id: Id,
  columns: PlantColumns,
): Plant & { readonly id: Id } {
  const plant: Record<string, unknown> = { id };
  for (const field of fieldNames) {
    const value = columns[field];
    if (value !== null) plant[field] = typeOf(field).fromColumn(value);
  }
  return plant as unknown as Plant & { readonly id: Id };
}

/** The values of a plant in the order of fieldNames; null for a field that it does not have. */
export function toColumns(plant: Plant): ColumnValue[] {
  const values: ColumnValue[] = [];
  for (const field of fieldNames) {
    const value = fieldValue(plant, field);
    values.push(value === undefined ? null : typeOf(field).toColumn(value));
  }
  return values;
}

/** A plant without its id, as JSON.stringify writes it exactly: the body of a response. */
export function toJsonPlant(plant: Plant): object {
  const json: Record<string, unknown> = {};
  for (const field of fieldNames) {
    const value = fieldValue(plant, field);
    if (value !== undefined) json[field] = typeOf(field).toJson(value);
  }
  return json;
}

/** A NewPlant as one line of JSON. An engine that reads the id as text may pass the text. */
export function newPlantJson(plant: Plant & { readonly id: bigint | string }): string {
  // JSON.stringify throws for a bigint, so the id is put in front of the rest.
  return `{"id":${plant.id},${JSON.stringify(toJsonPlant(plant)).slice(1)}`;
}

/** A body for messages and help, with a space after each colon and comma. */
export function sampleBody(id: bigint): string {
  const members = fieldNames.map((field) => {
    const value = fieldValue(sample(), field) as FieldValue;
    return `"${field}": ${JSON.stringify(typeOf(field).toJson(value))}`;
  });
  return `{${[`"id": ${id}`, ...members].join(", ")}}`;
}

/** The error for a plant whose id is taken by a different one. */
export function conflictError({ id }: NewPlant): ApiError {
  return new ApiError(
    "conflict",
    `The id ${id} already holds a different plant, which is unchanged; choose another id.`,
  );
}

/** Whether two plants are equal in everything but their ids. */
export function plantsEqual(one: Plant, other: Plant): boolean {
  return fieldNames.every((field) => fieldsEqual(one, other, field));
}

/** Parses and validates a body: the NewPlant, or invalidJson, invalidPlant or unstorableText. */
export function parseNewPlant(body: Uint8Array): NewPlant | ApiError {
  const text = decodeUtf8(body);
  return text === undefined ? invalidUtf8(body) : parseNewPlantJson(text);
}

/** Like parseNewPlant, for a body that is a string without a byte order mark. */
export function parseNewPlantJson(text: string): NewPlant | ApiError {
  if (text.length > parsedCodeUnitsMax) return parseLongJson(text);
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    const scan = scanJson(text, []);
    if ("error" in scan) return invalidJson(scan.error);
    throw new Error("JSON.parse rejected a text in which the scanner found no error");
  }
  return validate(json, text);
}

/**
 * Longer texts are scanned, and only the fields of a NewPlant are parsed: JSON.parse would create
 * an object for each of a million brackets, which took 60 ms, and with some clients 200 MB. It
 * parses any 4,096 code units in at most 0.2 ms.
 */
const parsedCodeUnitsMax = 4_096;

type MemberName = "id" | FieldName;

function parseLongJson(text: string): NewPlant | ApiError {
  const scan = scanJson(text, ["id", ...fieldNames]);
  if ("error" in scan) return invalidJson(scan.error);
  const members = [...scan.members].map(([member, value]) => [member, parseMember(member, value)]);
  const outermost = text.trimStart();
  return validate(outermost.startsWith("{") ? Object.fromEntries(members) : parseShallow(outermost), text);
}

/** The value of a member; an array or object whose field is none is empty. */
function parseMember(member: string, value: string): unknown {
  const isArray = member !== "id" && typeOf(member as FieldName).schema.type === "array";
  return isArray ? JSON.parse(value) : parseShallow(value);
}

/** Like JSON.parse, but arrays and objects are empty. */
function parseShallow(text: string): unknown {
  if (text.startsWith("{")) return {};
  return text.startsWith("[") ? [] : JSON.parse(text);
}

/** The JSON text of a member, with all digits of a number. */
function findMember(text: string, member: MemberName): string {
  const scan = scanJson(text, [member]);
  return ("members" in scan && scan.members.get(member)) || "";
}

/** The fields of a NewPlant as strings, such as cells of a CSV record; undefined if absent. */
export type NewPlantFields = Readonly<Partial<Record<"id" | FieldName, string | undefined>>>;

/** Parses and validates fields: the NewPlant, or invalidPlant or unstorableText. */
export function parseNewPlantFields(texts: NewPlantFields): NewPlant | ApiError {
  const errors: string[] = [];
  const id = texts.id === undefined ? undefined : parseInt64(texts.id);
  if (texts.id === undefined) errors.push(missing("id"));
  else if (id === undefined)
    errors.push(/^-?[0-9]+$/.test(texts.id) ? mismatch("id", shorten(texts.id)) : notDecimalDigits(texts.id));
  const plant: Record<string, unknown> = { id };
  for (const field of fieldNames) {
    const text = texts[field];
    const type = typeOf(field);
    // Programs that quote every cell also quote the empty cell of a value that is no text.
    const isAbsent = text === undefined || (text === "" && type.parse("") === undefined);
    const value = isAbsent ? undefined : type.parse(text);
    if (value !== undefined) plant[field] = value;
    else if (!isAbsent) errors.push(mismatch(field, JSON.stringify(shorten(text))));
    else if (isRequired(field)) errors.push(missing(field));
  }
  return errors.length > 0 ? invalidPlant(errors) : storable(plant as unknown as NewPlant);
}

/** The error of an id that is not decimal digits, such as a spreadsheet's 9.0072E+15. */
function notDecimalDigits(id: string): string {
  const shown = shorten(id);
  if (/^-?\d{1,3}(?:[.,' \u00a0\u202f]\d{3})+$/.test(id))
    return `"id" must be ${expectedType("id")} in decimal digits, but is ${shown}: write it without separators between thousands`;
  const reason = /^-?\d+(?:[.,]\d+)?(?:E[+-]?\d+)?$/i.test(id)
    ? `${shown}: a spreadsheet may have shortened it, so take the id from where the spreadsheet had it`
    : JSON.stringify(shown);
  return `"id" must be ${expectedType("id")} in decimal digits, but is ${reason}`;
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** Validates the value of a body, in which an integer may have lost digits; `text` has them. */
function validate(json: unknown, text: string): NewPlant | ApiError {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return invalidPlant([`it must be an object, but is ${actualType(json)}`]);

  // A safe integer without a point or an exponent is exact: 4 ns, against 1 µs for a scan.
  const hasPlainNumbers = !/[0-9][.eE]/.test(text);
  const members = json as Readonly<Record<string, unknown>>;
  const plant: Record<string, unknown> = { id: undefined };
  const errors: string[] = [];
  for (let index = 0; index < fieldNames.length; index++) {
    const field = fieldNames[index] as FieldName;
    const value = members[field];
    if (value === undefined) {
      if (isRequired(field)) errors.push(missing(field));
      continue;
    }
    const parsed = typeOf(field).fromJson(value, () => digitsOf(field, value));
    if (parsed === undefined) errors.push(mismatch(field, describeActual(field, value)));
    else plant[field] = parsed;
  }
  const { id } = members;
  if (typeof id !== "number") errors.push(id === undefined ? missing("id") : mismatch("id", actualType(id)));
  else {
    plant.id = hasPlainNumbers && Number.isSafeInteger(id) ? BigInt(id) : parseJsonInt64(digitsOf("id", id));
    if (plant.id === undefined) errors.push(mismatch("id", describeActual("id", id)));
  }
  return errors.length > 0 ? invalidPlant(errors) : storable(plant as unknown as NewPlant);

  function digitsOf(member: MemberName, value: unknown): string {
    return hasPlainNumbers && Number.isSafeInteger(value) ? String(value) : findMember(text, member);
  }

  /** A number is shown with its digits, which say why it is not exact or too large. */
  function describeActual(member: MemberName, value: unknown): string {
    const isNumber = member === "id" || typeOf(member).input === "number";
    return isNumber && Number.isInteger(value) ? shorten(findMember(text, member)) : actualType(value);
  }
}

function invalidPlant(errors: readonly string[]): ApiError {
  return new ApiError("invalidPlant", `The body is not a NewPlant: ${errors.join("; ")}.`);
}

/** A plant, or the error if its strings cannot be stored exactly. */
function storable(plant: NewPlant): NewPlant | ApiError {
  let reasons: string[] | undefined;
  for (const field of fieldNames) {
    const value = fieldValue(plant, field);
    const reason = value === undefined ? undefined : typeOf(field).unstorable(value);
    if (reason !== undefined) reasons = [...(reasons ?? []), `"${field}" ${reason}, which cannot be stored`];
  }
  return reasons === undefined ? plant : new ApiError("unstorableText", `${reasons.join("; ")}: remove it.`);
}

function invalidUtf8(body: Uint8Array): ApiError {
  const text = validUtf8Prefix(body);
  const { line, column } = positionOf(text, text.length);
  return new ApiError(
    "invalidJson",
    `The body is not UTF-8: invalid bytes at line ${line}, column ${column}; encode the JSON in UTF-8.`,
  );
}

function invalidJson(error: string): ApiError {
  return new ApiError("invalidJson", `The body is not JSON: ${error}.`);
}

function expectedType(member: MemberName): string {
  return member === "id" ? "an integer (int64)" : typeOf(member).expected;
}

function missing(member: MemberName): string {
  return `"${member}" is required and must be ${expectedType(member)}, but is missing`;
}

function mismatch(member: MemberName, actual: string): string {
  return `"${member}" must be ${expectedType(member)}, but is ${actual}`;
}

function actualType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === Infinity || value === -Infinity) return "far outside its range";
  if (typeof value === "number") return `the number ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
