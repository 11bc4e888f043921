// NewPlant and Plant: the way from the bytes of a body to a NewPlant, and back to JSON.

import { ApiError } from "./errors.ts";
import {
  type FieldName,
  type FieldType,
  type FieldValue,
  fieldNames,
  integerFields,
  isRequired,
  otherFields,
  type Plant,
  type PlantColumns,
  parseFieldText,
  textFields,
  toFieldValue,
  typeOf,
} from "./fields.ts";
import { parseInt64, parseJsonInt64 } from "./int64.ts";
import { formatSyntaxError, type JsonSyntaxError, positionOf, scanJson } from "./json-scanner.ts";
import { decodeUtf8, validUtf8Prefix } from "./utf8.ts";

export type { Plant };

/** A plant as it is sent and stored, without U+0000 and unpaired surrogates. */
export type NewPlant = Plant & { readonly id: bigint };

/** The Plant of a NewPlant, or of any other object with its fields. */
export function toPlant(from: Plant): Plant {
  const plant: Record<string, FieldValue> = { name: from.name };
  for (const field of otherFields) {
    const value: FieldValue | undefined = from[field];
    if (value !== undefined) plant[field] = value;
  }
  return plant as unknown as Plant;
}

/** The NewPlant with an id, and with the columns that are neither null nor undefined. */
export function toNewPlant<Id extends bigint | string>(
  id: Id,
  columns: PlantColumns | Plant,
): Plant & { readonly id: Id } {
  const plant: Record<string, FieldValue | bigint> = { id, name: columns.name };
  for (const field of otherFields) {
    const value = columns[field];
    if (value !== undefined && value !== null) plant[field] = toFieldValue(field, value);
  }
  return plant as unknown as Plant & { readonly id: Id };
}

/** The values of a plant in the order of fieldNames; null for a field that it does not have. */
export function toColumns(plant: Plant): (FieldValue | null)[] {
  const values: (FieldValue | null)[] = [];
  for (const field of fieldNames) values.push(plant[field] ?? null);
  return values;
}

/** A NewPlant as one line of JSON. An engine that reads the id as text may pass the text. */
export function newPlantJson(plant: Plant & { readonly id: bigint | string }): string {
  // JSON.stringify throws for a bigint, so the id is put in front of the rest.
  return `{"id":${plant.id},${JSON.stringify(toPlant(plant)).slice(1)}`;
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
  return fieldNames.every((field) => one[field] === other[field]);
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
    return invalidJson(text);
  }
  return validate(json, text, (field) => findMember(text, field));
}

/**
 * Longer texts are scanned, and only the fields of a NewPlant are parsed: JSON.parse would create
 * an object for each of a million brackets. It parses any 4,096 code units in at most 0.2 ms.
 */
const parsedCodeUnitsMax = 4_096;

type MemberName = "id" | FieldName;

/** In the order of their errors. */
const memberOrder: readonly MemberName[] = [...fieldNames, "id"];

function parseLongJson(text: string): NewPlant | ApiError {
  const scan = scanJson(text, memberOrder);
  if ("error" in scan) return syntaxError(scan.error);
  const outermost = parseShallow(text.trimStart());
  if (typeof outermost !== "object" || outermost === null || Array.isArray(outermost))
    return validate(outermost, "", () => undefined);
  const json = Object.fromEntries([...scan.members].map(([field, member]) => [field, parseShallow(member)]));
  const numbers = ["id", ...integerFields].map((field) => scan.members.get(field) ?? "");
  return validate(json, numbers.join(" "), (field) => scan.members.get(field));
}

/** Like JSON.parse, but arrays and objects are empty. */
function parseShallow(text: string): unknown {
  if (text.startsWith("{")) return {};
  return text.startsWith("[") ? [] : JSON.parse(text);
}

/** The JSON text of a member, with all digits of a number. */
function findMember(text: string, field: string): string | undefined {
  const scan = scanJson(text, memberOrder);
  return "members" in scan ? scan.members.get(field) : undefined;
}

/** The fields of a NewPlant as strings, such as cells of a CSV record; undefined if absent. */
export type NewPlantFields = Readonly<Partial<Record<"id" | FieldName, string | undefined>>>;

/** Parses and validates fields: the NewPlant, or invalidPlant or unstorableText. */
export function parseNewPlantFields(texts: NewPlantFields): NewPlant | ApiError {
  const errors: string[] = [];
  const id = texts.id === undefined ? undefined : parseInt64(texts.id);
  if (texts.id === undefined) errors.push(missing("id"));
  else if (!/^-?[0-9]+$/.test(texts.id)) errors.push(notDecimalDigits(texts.id));
  else if (id === undefined) errors.push(mismatch("id", shorten(texts.id)));
  const columns: Partial<Record<FieldName, FieldValue>> = {};
  for (const field of fieldNames) {
    const text = texts[field];
    // Programs that quote every cell also quote the empty cell of a value that is no text.
    if (text === undefined || (text === "" && typeOf(field) !== "text")) {
      if (isRequired(field)) errors.push(missing(field));
      continue;
    }
    const value = parseFieldText(field, text);
    if (value === undefined || !hasType(field, value))
      errors.push(mismatch(field, JSON.stringify(shorten(text))));
    else columns[field] = value;
  }
  return id === undefined || errors.length > 0
    ? invalidPlant(errors)
    : storable(toNewPlant(id, columns as unknown as Plant));
}

/** The error of an id that is not decimal digits, such as a spreadsheet's 9.0072E+15. */
function notDecimalDigits(id: string): string {
  const shown = shorten(id);
  const reason = /^-?\d+(?:[.,]\d+)?(?:E[+-]?\d+)?$/i.test(id)
    ? `${shown}: a spreadsheet may have shortened it, so take the id from where the spreadsheet had it`
    : JSON.stringify(shown);
  return `"id" must be ${expectedType("id")} in decimal digits, but is ${reason}`;
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/**
 * Validates a parsed body.
 *
 * @param json The parsed value, in which an integer may have lost digits.
 * @param text A text that contains the digits of the integers.
 * @param getMember The text of a member; called only where the number alone does not suffice.
 */
function validate(
  json: unknown,
  text: string,
  getMember: (member: MemberName) => string | undefined,
): NewPlant | ApiError {
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return invalidPlant([`it must be an object, but is ${actualType(json)}`]);

  // A safe integer without a point or an exponent is exact: 4 ns, against 1 µs for a scan.
  const hasPlainNumbers = !/[0-9][.eE]/.test(text);
  const errors: string[] = [];
  let id: bigint | undefined;
  for (const member of memberOrder) {
    const value = (json as Readonly<Record<string, unknown>>)[member];
    if (value === undefined) {
      if (member === "id" || isRequired(member)) errors.push(missing(member));
    } else if (!hasType(member, value)) {
      errors.push(mismatch(member, actualType(value)));
    } else if (typeof value === "number") {
      const exact =
        hasPlainNumbers && Number.isSafeInteger(value)
          ? BigInt(value)
          : parseJsonInt64(getMember(member) ?? "");
      if (exact === undefined) errors.push(mismatch(member, shorten(getMember(member) ?? "")));
      if (member === "id") id = exact;
    }
  }
  return id === undefined || errors.length > 0
    ? invalidPlant(errors)
    : storable(toNewPlant(id, json as Plant));
}

function invalidPlant(errors: readonly string[]): ApiError {
  return new ApiError("invalidPlant", `The body is not a NewPlant: ${errors.join("; ")}.`);
}

/** A plant, or the error if its strings cannot be stored exactly. */
function storable(plant: NewPlant): NewPlant | ApiError {
  const unstorable = textFields.filter((field) => !isStorable(plant[field] ?? ""));
  if (unstorable.length === 0) return plant;
  const reasons = unstorable.map((field) => {
    const value = plant[field] ?? "";
    const index = value.search(/\0|\p{Surrogate}/u);
    const codeUnit = value.charCodeAt(index).toString(16).toUpperCase().padStart(4, "0");
    const character = codeUnit === "0000" ? "U+0000" : `the unpaired surrogate U+${codeUnit}`;
    return `"${field}" holds ${character} at index ${index}, which cannot be stored`;
  });
  return new ApiError("unstorableText", `${reasons.join("; ")}: remove it.`);
}

/** Whether every engine stores a text exactly: none has U+0000 or unpaired surrogates. */
export function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

function invalidUtf8(body: Uint8Array): ApiError {
  const text = validUtf8Prefix(body);
  const { line, column } = positionOf(text, text.length);
  return new ApiError(
    "invalidJson",
    `The body is not UTF-8: invalid bytes at line ${line}, column ${column}; encode the JSON in UTF-8.`,
  );
}

function invalidJson(text: string): ApiError {
  const scan = scanJson(text, memberOrder);
  if (!("error" in scan)) throw new Error("JSON.parse rejected a text in which the scanner found no error");
  return syntaxError(scan.error);
}

function syntaxError(error: JsonSyntaxError): ApiError {
  return new ApiError("invalidJson", `The body is not JSON: ${formatSyntaxError(error)}.`);
}

/** The types of the members as messages name them. */
const typeNames: Readonly<Record<FieldType, string>> = {
  text: "a string",
  integer: "an integer (int32)",
  boolean: "a boolean",
};

function expectedType(member: MemberName): string {
  return member === "id" ? "an integer (int64)" : typeNames[typeOf(member)];
}

function missing(member: MemberName): string {
  return `"${member}" is required and must be ${expectedType(member)}, but is missing`;
}

function mismatch(member: MemberName, actual: string): string {
  return `"${member}" must be ${expectedType(member)}, but is ${actual}`;
}

function hasType(field: MemberName, value: unknown): boolean {
  if (field === "id") return Number.isInteger(value);
  const type = typeOf(field);
  if (type === "text") return typeof value === "string";
  // The bitwise operator keeps an int32, and changes every other value.
  return type === "boolean" ? typeof value === "boolean" : ((value as number) | 0) === value;
}

function actualType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === Infinity || value === -Infinity) return "far outside its range";
  if (typeof value === "number") return `the number ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
