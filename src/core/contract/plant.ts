// NewPlant and Plant: the way from the bytes of a body to a NewPlant, and back to JSON.

import openapiYaml from "../../../openapi.yaml";
import { ApiError } from "./errors.ts";
import {
  type FieldName,
  type FieldValue,
  fieldNames,
  integerFields,
  otherFields,
  type Plant,
  type PlantColumns,
  parseFieldText,
  textFields,
  toFieldValue,
  typeOf,
} from "./fields.ts";
import { parseJsonInt64 } from "./int64.ts";
import { formatSyntaxError, type JsonSyntaxError, positionOf, scanJson } from "./json-scanner.ts";
// Generated: to load ajv and compile the schema takes 60 ms of processor time, in each thread.
import { validate as matchesSchema, type SchemaError } from "./new-plant-validator.js";
import { decodeUtf8, validUtf8Prefix } from "./utf8.ts";

export type { Plant };

/** The interface description, openapi.yaml. */
export const openapi = openapiYaml;

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

const memberNames: readonly string[] = ["id", ...fieldNames];

function parseLongJson(text: string): NewPlant | ApiError {
  const scan = scanJson(text, memberNames);
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
  const scan = scanJson(text, memberNames);
  return "members" in scan ? scan.members.get(field) : undefined;
}

/** The fields of a NewPlant as strings, such as cells of a CSV record; undefined if absent. */
export type NewPlantFields = Readonly<Partial<Record<"id" | FieldName, string | undefined>>>;

/** Parses and validates fields: the NewPlant, or invalidPlant or unstorableText. */
export function parseNewPlantFields(texts: NewPlantFields): NewPlant | ApiError {
  const { id } = texts;
  const errors = id === undefined || /^-?[0-9]+$/.test(id) ? [] : [notDecimalDigits(id)];
  const candidate: Record<string, unknown> = {
    id: id === undefined ? undefined : errors.length === 0 ? Number(id) : 0,
  };
  for (const field of fieldNames) {
    const text = texts[field];
    // Programs that quote every cell also quote the empty cell of a value that is no text.
    if (text === undefined || (text === "" && typeOf(field) !== "text")) continue;
    const value = parseFieldText(field, text);
    if (value === undefined) errors.push(wrongText(field, text));
    else candidate[field] = value;
  }
  return validate(candidate, id ?? "", (field) => texts[field], errors);
}

/** The error of an id that is not decimal digits, such as a spreadsheet's 9.0072E+15. */
function notDecimalDigits(id: string): FieldError {
  const shown = shorten(id);
  const reason = /^-?\d+(?:[.,]\d+)?(?:E[+-]?\d+)?$/i.test(id)
    ? `${shown}: a spreadsheet may have shortened it, so take the id from where the spreadsheet had it`
    : JSON.stringify(shown);
  return {
    field: "id",
    message: `"id" must be ${expectedType("id")} in decimal digits, but is ${reason}`,
  };
}

function wrongText(field: FieldName, text: string): FieldError {
  return {
    field,
    message: `"${field}" must be ${expectedType(field)}, but is ${JSON.stringify(shorten(text))}`,
  };
}

function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/**
 * Validates a plant of any format.
 *
 * @param json The parsed value, in which an integer may have lost digits.
 * @param text A text that contains the digits of the integers.
 * @param getMember The text of a field in it; called only where the numbers alone do not suffice.
 * @param knownErrors Errors of fields that are already known, which replace those of the schema.
 */
function validate(
  json: unknown,
  text: string,
  getMember: (field: "id" | FieldName) => string | undefined,
  knownErrors: readonly FieldError[] = noErrors,
): NewPlant | ApiError {
  const found = validateShape(json);
  const errors = knownErrors.length === 0 ? found : mergeErrors(knownErrors, found);
  const id = exactId(json, text, getMember, errors);
  if (id === undefined || errors.length > 0) {
    return new ApiError(
      "invalidPlant",
      `The body is not a NewPlant: ${errors.map(({ message }) => message).join("; ")}.`,
    );
  }

  const newPlant = toNewPlant(id, json as Plant);
  return unstorableText(newPlant) ?? newPlant;
}

const noErrors: readonly FieldError[] = [];

/** One error a field, in the order of the fields. */
function mergeErrors(known: readonly FieldError[], found: readonly FieldError[]): FieldError[] {
  const others = found.filter(({ field }) => !known.some((error) => error.field === field));
  const place = ({ field }: FieldError) => memberNames.indexOf(field);
  return [...known, ...others].toSorted((one, other) => place(one) - place(other));
}

/** The error of a plant whose strings cannot be stored exactly, or undefined. */
function unstorableText(plant: Plant): ApiError | undefined {
  const unstorable = textFields.filter((field) => !isStorable(plant[field] ?? ""));
  if (unstorable.length === 0) return undefined;
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

/**
 * The exact id of a value, unless its shape has an error; adds the errors of integers whose exact
 * values are no integers, or not in their range.
 */
function exactId(
  json: unknown,
  text: string,
  getMember: (field: "id" | FieldName) => string | undefined,
  errors: FieldError[],
): bigint | undefined {
  const hasError = (name: string) => errors.some(({ field }) => field === name || field === "");
  // A safe integer without a point or an exponent is exact: 4 ns, against 1 µs for a scan.
  const { id } = (json ?? {}) as { id?: number };
  if (Number.isSafeInteger(id) && !/[0-9][.eE]/.test(text) && !hasError("id")) return BigInt(id as number);

  let exact: bigint | undefined;
  const wrong: FieldError[] = [];
  for (const field of ["id", ...integerFields] as const) {
    if (hasError(field)) continue;
    const member = getMember(field);
    if (field === "id" && member === undefined)
      throw new Error("JSON.parse found a numeric id where the scanner found none");
    if (member === undefined) continue;
    const value = parseJsonInt64(member);
    if (field === "id") exact = value;
    if (value === undefined)
      wrong.push({ field, message: `"${field}" must be ${expectedType(field)}, but is ${shorten(member)}` });
  }
  errors.unshift(...wrong);
  return exact;
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
  const scan = scanJson(text, memberNames);
  if (!("error" in scan)) throw new Error("JSON.parse rejected a text in which the scanner found no error");
  return syntaxError(scan.error);
}

function syntaxError(error: JsonSyntaxError): ApiError {
  return new ApiError("invalidJson", `The body is not JSON: ${formatSyntaxError(error)}.`);
}

/** A field that does not match the schema, and why. The field is "" for the body as a whole. */
interface FieldError {
  readonly field: string;
  readonly message: string;
}

const schemas = openapi.components.schemas;
const properties = collectProperties({ $ref: "#/components/schemas/NewPlant" });

/**
 * The fields by which a parsed body does not match the schema, at most one error each. Numbers are
 * checked as JavaScript numbers, so a valid id must still be checked by its exact digits.
 */
function validateShape(body: unknown): FieldError[] {
  if (matchesSchema(body)) return [];
  const errors = new Map<string, FieldError>();
  for (const error of matchesSchema.errors ?? []) {
    const fieldError = toFieldError(error, body);
    if (!errors.has(fieldError.field)) errors.set(fieldError.field, fieldError);
  }
  return [...errors.values()];
}

/** The type of a field in words: "an integer (int64)". */
function expectedType(field: string): string {
  const property = properties[field];
  if (property === undefined) throw new Error(`The schema NewPlant has no field ${field}`);
  const article = /^[aeiou]/.test(property.type) ? "an" : "a";
  return `${article} ${property.type}${property.format === undefined ? "" : ` (${property.format})`}`;
}

function collectProperties(schema: ObjectSchema): NonNullable<ObjectSchema["properties"]> {
  const name = schema.$ref?.split("/").at(-1);
  const parts = [name === undefined ? undefined : schemas[name], ...(schema.allOf ?? [])];
  return Object.assign({}, ...parts.map((part) => part && collectProperties(part)), schema.properties);
}

function toFieldError({ keyword, instancePath, params, message }: SchemaError, body: unknown): FieldError {
  if (keyword === "required") {
    const field = params.missingProperty ?? "";
    return { field, message: `"${field}" is required and must be ${expectedType(field)}, but is missing` };
  }
  const field = instancePath.slice(1);
  const subject = field === "" ? "it" : `"${field}"`;
  const value = field === "" ? body : (body as Readonly<Record<string, unknown>>)[field];
  if (keyword !== "type") {
    const actual = typeof value === "number" ? `, but is ${actualType(value)}` : "";
    return { field, message: `${subject} ${message}${actual}` };
  }
  const expected = field === "" ? "an object" : expectedType(field);
  return { field, message: `${subject} must be ${expected}, but is ${actualType(value)}` };
}

function actualType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (value === Infinity || value === -Infinity) return "far outside its range";
  if (typeof value === "number") return `the number ${value}`;
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
