// Reads plants from the bytes of a body, and writes them as JSON.

import { ApiError } from "../base/errors.ts";
import { filterJson } from "../json/json-filter.ts";
import { positionOf, scanJson } from "../json/json-scanner.ts";
import type { Json } from "../json/json-values.ts";
import { SentJson, type SentValue } from "../json/sent-json.ts";
import { decodeUtf8, validUtf8Prefix } from "../json/utf8.ts";
import {
  type Collection,
  type Field,
  type Plant,
  type PlantColumns,
  type Representation,
  sampleValues,
  type Values,
} from "./contract.ts";
import type { PlantId } from "./plant-id.ts";
import { assertReadable, describeFault, excessOf, type Fault, loggedFault, Work } from "./schema-check.ts";
import { type ColumnValue, convert, type FieldType, type FieldValue, withinLimits } from "./stored-types.ts";
import { withArticle } from "./words.ts";

/** The values of a row of the table of a collection. */
export function toValues({ fields }: Pick<Collection, "fields">, row: PlantColumns): Values {
  const values: (FieldValue | undefined)[] = [];
  for (const { columnName, type } of fields) values.push(fromColumn(type, row[columnName]));
  return values;
}

function fromColumn(type: Field["type"], value: unknown): FieldValue | undefined {
  return value === null || value === undefined
    ? undefined
    : type.fromColumn(value as Exclude<ColumnValue, null>);
}

/** The columns of values; null for a field without one. */
export function toColumns({ fields }: Pick<Collection, "fields">, values: Values): ColumnValue[] {
  const columns: ColumnValue[] = [];
  for (let index = 0; index < fields.length; index++) {
    const value = values[index];
    columns.push(value === undefined ? null : (fields[index] as Field).type.toColumn(value));
  }
  return columns;
}

/** The values of columns as toColumns has them, where integers may be digits. */
export function fromColumns({ fields }: Pick<Collection, "fields">, columns: readonly ColumnValue[]): Values {
  return fields.map(({ type }, index) => fromColumn(type, columns[index]));
}

/** Parts of a response besides the values of a resource; times are milliseconds since the epoch. */
export interface ResponseDetails {
  readonly createdAt?: number | undefined;
  /** The time of creation for a resource that was never changed. */
  readonly changedAt?: number | undefined;
  readonly url?: string;
}

/** A resource in the body of a response. */
export function responseJson(
  collection: Collection,
  response: Representation,
  plant: Plant,
  details?: ResponseDetails,
): string {
  const { hasId, fields, absent } = response;
  const json = toJson(collection, plant, hasId, fields, absent);
  return hasDetails(response) ? withDetails(json, response, details) : json;
}

/** Whether responseJson writes a plant as plantJson does. */
export function isPlantJson(response: Representation): boolean {
  const { hasId, fields, absent } = response;
  return hasId && absent === undefined && !hasDetails(response) && fields.every((shown) => shown === true);
}

function hasDetails({ createdName, updatedName, urlName, constants, wrapper }: Representation): boolean {
  return (createdName ?? updatedName ?? urlName ?? wrapper) !== undefined || constants.length > 0;
}

function withDetails(
  json: string,
  { createdName, updatedName, urlName, constants, wrapper }: Representation,
  { createdAt, changedAt, url }: ResponseDetails = {},
): string {
  const members = [...constants];
  const add = (name: string | undefined, value: string | undefined) => {
    if (name !== undefined && value !== undefined)
      members.push(`${JSON.stringify(name)}:${JSON.stringify(value)}`);
  };
  add(createdName, timeText(createdAt));
  add(updatedName, timeText(changedAt ?? createdAt));
  add(urlName, url);
  const separator = json === "{}" ? "" : ",";
  const whole = members.length === 0 ? json : `${json.slice(0, -1)}${separator}${members.join(",")}}`;
  return wrapper === undefined ? whole : wrapper[0] + whole + wrapper[1];
}

function timeText(milliseconds: number | undefined): string | undefined {
  return milliseconds === undefined ? undefined : new Date(milliseconds).toISOString();
}

/** The URL of a resource below that of its collection, or of a page of that. */
export function itemUrl({ path, itemPath }: Collection, collectionUrl: string, id: PlantId): string {
  const { origin, pathname } = new URL(collectionUrl);
  const below = itemPath.slice(path.replace(/\/$/, "").length);
  return origin + pathname.replace(/\/$/, "") + below.replace("{id}", encodeURIComponent(String(id)));
}

/** A plant with all its fields as one line of JSON. An engine that reads an int64 as text may pass it. */
export function plantJson(collection: Collection, plant: Plant): string {
  return toJson(collection, plant, true);
}

/** The fields of a plant that have a value, without its id, as one line of JSON. */
export function valuesJson(collection: Collection, values: Values): string {
  return toJson(collection, { id: "", values }, false);
}

/**
 * @param shown whether the JSON has the field, and what it leaves out, for each field; all by default.
 * @param absent the JSON of fields without a value.
 */
function toJson(
  { fields, id: { jsonName: idName, type: idType } }: Collection,
  { id, values }: Plant,
  hasId: boolean,
  shown?: Representation["fields"],
  absent?: Representation["absent"],
): string {
  let json = hasId ? `{${idName}${idType.toJson(id)}` : "{";
  for (let index = 0; index < fields.length; index++) {
    const value = values[index];
    const own = shown?.[index] ?? true;
    if (own === false || (value === undefined && absent?.[index] === undefined)) continue;
    const { jsonName, type, isOthers } = fields[index] as Field;
    const written = value === undefined ? absent?.[index] : type.toJson(value);
    const shownJson = own === true ? written : filterJson(String(written), own);
    // An object of other members is none itself.
    if (isOthers && shownJson === "{}") continue;
    if (json.length > 1) json += ",";
    json += isOthers ? shownJson?.slice(1, -1) : jsonName + shownJson;
  }
  return `${json}}`;
}

/** The body of a create: without an id that the server chooses. */
export function bodyJson(collection: Collection, plant: Plant): string {
  return wrapped(collection, toJson(collection, plant, collection.id.isRequired));
}

function wrapped({ wrapper }: Collection, json: string): string {
  return wrapper === undefined ? json : `{${JSON.stringify(wrapper)}:${json}}`;
}

/**
 * A body for messages and help, with a space after each colon and comma.
 *
 * @param number its id, where ids are int64.
 */
export function sampleBody(collection: Collection, number: bigint): string {
  const { type } = collection.id;
  const id = type.kind.name === "integer" ? number : (collection.examples[0] as Plant).id;
  const members = sampleValues(collection).flatMap((value, index) => {
    const { jsonName, type, isOthers } = collection.fields[index] as Field;
    const json = type.toJson(value as FieldValue);
    if (!isOthers) return [`${jsonName} ${json}`];
    return json === "{}" ? [] : [json.slice(1, -1)];
  });
  const chosen = collection.id.isRequired
    ? [`${JSON.stringify(collection.id.name)}: ${type.toJson(id)}`]
    : [];
  return wrapped(collection, `{${[...chosen, ...members].join(", ")}}`);
}

/**
 * The error for a plant whose id is taken by a different one.
 *
 * @param hasKey whether the id is that of an Idempotency-Key.
 */
export function conflictError({ words, id: { type } }: Collection, plant: Plant, hasKey = false): ApiError {
  const id = type.toJson(plant.id);
  const message = hasKey
    ? `This Idempotency-Key has created the ${words.one} ${id} from another body. Nothing was stored; send a new key for another ${words.one}.`
    : `The id ${id} already holds a different ${words.one}, which is unchanged; choose another id.`;
  return new ApiError("conflict", message);
}

/** The parts of a collection that parsing uses. */
export type PlantSchema = Pick<Collection, "fields" | "id" | "body" | "allowsOthers" | "ignored" | "words">;

/**
 * Parses and validates a body: the plant, or invalidJson, invalidPlant or unstorableText.
 *
 * @param newId chooses the id of a body without one.
 */
export function parsePlant(
  collection: PlantSchema,
  body: Uint8Array,
  newId?: () => PlantId,
): Plant | ApiError {
  const text = decodeUtf8(body);
  return text === undefined ? invalidUtf8(body) : parsePlantJson(collection, text, newId);
}

/** Parses the body of a create, which may have the resource in a member. */
export function parseCreate(
  collection: Collection,
  body: Uint8Array,
  newId?: () => PlantId,
): Plant | ApiError {
  const text = unwrapBody(collection, collection.words.body, body);
  return text instanceof ApiError ? text : parsePlantJson(collection, text, newId);
}

/** The text of the resource in a body that may have it in a member. */
export function unwrapBody(
  { wrapper }: Pick<Collection, "wrapper">,
  name: string,
  body: Uint8Array,
): string | ApiError {
  const text = decodeUtf8(body);
  if (text === undefined) return invalidUtf8(body);
  if (wrapper === undefined) return text;
  const found = scanJson(text, [wrapper]);
  if ("error" in found) return invalidJson(found.error);
  const resource = found.members.get(wrapper);
  const reason = `it must have a member ${JSON.stringify(wrapper)} with the resource`;
  return resource?.startsWith("{")
    ? resource
    : new ApiError("invalidPlant", `The body is not ${withArticle(name)}: ${reason}.`);
}

/** Like parsePlant, for a body that is a string without a byte order mark. */
export function parsePlantJson(
  collection: PlantSchema,
  text: string,
  newId?: () => PlantId,
): Plant | ApiError {
  const { fields, id, ignored } = collection;
  const sent = SentJson.parse(text, () => [id.name, ...fields.map(({ name }) => name), ...ignored]);
  return "error" in sent ? invalidJson(sent.error) : readPlant(collection, sent, newId);
}

/** The object of a body: as it was sent, or after a change. */
export interface SentObject {
  /** Has all members, though what they hold may have lost digits. */
  readonly value: unknown;
  member(name: string): SentValue | undefined;
  /** The whole, whose numbers are exact. Throws a RangeError for what is nested too deeply. */
  exact(): unknown;
  /** Its JSON; undefined where it is not one text. */
  text?(): string;
}

/**
 * Validates a plant that was parsed: the plant, or invalidPlant or unstorableText.
 *
 * @param kept values that are stored already; undefined for each that the body has.
 */
export function readPlant(
  collection: PlantSchema,
  sent: SentObject,
  newId?: () => PlantId,
  kept?: Values,
): Plant | ApiError {
  try {
    const found = validate(collection, sent, newId, kept);
    return Array.isArray(found) ? invalidPlant(collection, found) : storable(collection, found as Plant);
  } catch (error) {
    const excess = excessOf(error);
    if (excess === undefined) throw error;
    return invalidPlant(collection, [excess]);
  }
}

function validate(
  collection: PlantSchema,
  sent: SentObject,
  newId: (() => PlantId) | undefined,
  kept: Values | undefined,
): Plant | readonly BodyError[] {
  const { value: json } = sent;
  if (typeof json !== "object" || json === null || Array.isArray(json))
    return [`it must be an object, but is ${actualType(json)}`];
  const work = new Work();
  const { body, ignored } = collection;
  if (body === undefined) return readMembers(collection, sent, newId, kept, work, true);
  // The check of the whole has those of its members, which are run to name all that are at fault.
  if (sent.text !== undefined) assertReadable(sent.text());
  const whole = withoutMembers(sent.exact() as Json, ignored);
  const converted = readMembers(collection, sent, newId, kept, work, false);
  let fault: Fault | undefined;
  if (!Array.isArray(converted)) {
    fault = body.check.fault(whole, work);
    if (fault === undefined) return converted;
  }
  const errors = withinLimits(() => readMembers(collection, sent, newId, kept, work, true)) ?? converted;
  if (Array.isArray(errors) || fault === undefined) return errors;
  return [[describeFault(fault), loggedFault(fault, collection.fields)]];
}

/**
 * Converts the members of an object to those of a plant, or says what is wrong with each.
 *
 * @param isChecked whether their own checks are run.
 */
function readMembers(
  collection: PlantSchema,
  sent: SentObject,
  newId: (() => PlantId) | undefined,
  kept: Values | undefined,
  work: Work,
  isChecked: boolean,
): Plant | readonly BodyError[] {
  const { fields, id: idMember } = collection;
  const errors: BodyError[] = [];
  const values: (FieldValue | undefined)[] = [];
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] as Field;
    const stored = kept?.[index];
    if (field.isOthers) {
      values.push(stored ?? othersOf(field, sent, work));
      continue;
    }
    const member = stored === undefined ? sent.member(field.name) : undefined;
    if (member === undefined) {
      values.push(stored === undefined ? field.default : stored);
      if (stored === undefined && field.isRequired) errors.push(missing(field));
      continue;
    }
    const value = convert(field.type, member, work, isChecked);
    values.push(value);
    if (value === undefined) errors.push(mismatchOf(field, member));
  }
  const takesId = newId === undefined || idMember.isAccepted;
  const sentId = takesId ? sent.member(idMember.name) : undefined;
  const id = sentId === undefined ? newId?.() : convert(idMember.type, sentId, work, isChecked);
  if (id === undefined) errors.push(sentId === undefined ? missing(idMember) : mismatchOf(idMember, sentId));
  if (!collection.allowsOthers) {
    const known = [...fields.map(({ name }) => name), ...collection.ignored];
    if (takesId) known.push(idMember.name);
    const others = Object.keys(sent.value as Json).filter((name) => !known.includes(name));
    for (const name of others)
      errors.push([`it must have no member ${JSON.stringify(shorten(name))}`, "it has a member too many"]);
  }
  return errors.length > 0 ? errors : { id: id as PlantId, values };
}

/** The object of the members that no property names; undefined for none. */
function othersOf({ name, gather }: Field, sent: SentObject, work: Work): string | undefined {
  const json = sent instanceof SentJson ? gather?.(sent.text(), work) : sent.member(name)?.text();
  return json === "{}" ? undefined : json;
}

/** An object without some members. */
export function withoutMembers(object: Json, names: readonly string[]): Json {
  if (names.length === 0) return object;
  return Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
}

export function shorten(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function mismatchOf(member: Member, sent: SentValue): BodyError {
  return [mismatch(member, describeActual(member, sent)), mismatch(member, kindOf(sent.value))];
}

/** A number is shown with its digits, which say why it is not exact or too large. */
function describeActual({ type }: Member, sent: SentValue): string {
  const { value } = sent;
  const { check, input, column } = type;
  const isShown = input === "number" && typeof value === "number" && Number.isFinite(value);
  if (isShown && (Number.isInteger(value) || column.sqlite === "TEXT")) return shorten(sent.text());
  // Its limits are what it does not meet.
  if (typeof value === "string" && column.sqlite === "TEXT" && input !== "number" && input !== "json")
    return JSON.stringify(shorten(value));
  const fault = check && withinLimits(() => check.fault(sent.exact(), new Work()));
  // The message names the type, and what the whole schema accepts: of another type that says enough.
  const isSaid =
    fault?.path.length === 0 &&
    (fault.expected === check?.expected ||
      !(isParent(value) && /^an? (?:object|array|value) \w/.test(fault.expected)));
  return actualType(value) + (fault === undefined || isSaid ? "" : ` (${describeFault(fault)})`);
}

/** The id or a field. */
export type Member =
  | Pick<Field, "name" | "type">
  | { readonly name: string; readonly type: FieldType<PlantId> };

/** A fault of a body, in two wordings where the one for the client quotes the body. */
type BodyError = string | readonly [sent: string, logged: string];

export function invalidPlant({ words }: PlantSchema, errors: readonly BodyError[]): ApiError {
  const sentence = (wording: 0 | 1) => {
    const each = errors.map((error) => (typeof error === "string" ? error : error[wording]));
    return `The body is not ${withArticle(words.body)}: ${each.join("; ")}.`;
  };
  return new ApiError("invalidPlant", sentence(0), { logged: sentence(1) });
}

/** A plant, or the error if its strings cannot be stored exactly. */
export function storable({ fields, id }: PlantSchema, plant: Plant): Plant | ApiError {
  const reasons: string[] = [];
  const check = (name: string, reason: string | undefined) => {
    if (reason !== undefined) reasons.push(`"${name}" ${reason}, which cannot be stored`);
  };
  if (typeof plant.id === "string") check(id.name, id.type.unstorable(plant.id));
  for (let index = 0; index < fields.length; index++) {
    const value = plant.values[index];
    if (value === undefined) continue;
    const { name, type } = fields[index] as Field;
    check(name, type.unstorable(value));
  }
  return reasons.length === 0 ? plant : new ApiError("unstorableText", `${reasons.join("; ")}: remove it.`);
}

function invalidUtf8(body: Uint8Array): ApiError {
  const text = validUtf8Prefix(body);
  const { line, column } = positionOf(text, text.length);
  return new ApiError(
    "invalidJson",
    `The body is not UTF-8: invalid bytes at line ${line}, column ${column}; encode the JSON in UTF-8.`,
  );
}

export function invalidJson(error: string): ApiError {
  return new ApiError("invalidJson", `The body is not JSON: ${error}.`);
}

export function missing({ name, type }: Member): string {
  return `"${name}" is required and must be ${type.expected}, but is missing`;
}

export function mismatch({ name, type }: Member, actual: string): string {
  return `"${name}" must be ${type.expected}, but is ${actual}`;
}

function isParent(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function actualType(value: unknown): string {
  if (value === Infinity || value === -Infinity) return "far outside its range";
  return typeof value === "number" ? `the number ${value}` : kindOf(value);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return typeof value === "object" ? "an object" : `a ${typeof value}`;
}
