// Reads the properties of a resource: its fields in their order, and its id.

import { listed } from "../../base/listed.ts";
import type { Collection, Field } from "../../contract/contract.ts";
import { idFormatOf, type PlantId } from "../../contract/plant-id.ts";
import { allOf, anyValue, type SchemaCheck } from "../../contract/schema-check.ts";
import {
  type FieldType,
  type FieldValue,
  integer,
  isStorable,
  isText,
  restricted,
} from "../../contract/stored-types.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import type { Place } from "../document/place.ts";
import { propertiesOf, restrictionsText } from "../schema/restrictions.ts";
import {
  filterOfProperty,
  isHiddenIn,
  type ObjectSchema,
  type Property,
  schemaOf,
  usedPlaces,
} from "./body-schema.ts";
import { checkOf } from "./checks.ts";
import { type OtherPath, otherPathsOf } from "./described-paths.ts";
import { exampleOf, toFieldValue } from "./example-values.ts";
import { expandSchema } from "./expanded-schema.ts";
import { fieldTypeOf, isEnforced, valueTypes } from "./field-type.ts";
import { namesOfField } from "./sql-names.ts";

/** A table of PostgreSQL has at most 1,600 columns, of SQLite 2,000; some are our own. */
const fieldsMax = 1_500;

/**
 * Reads the fields. Rejects with a ContractError.
 *
 * @param examples of bodies.
 */
export async function readFields(
  body: ObjectSchema,
  {
    idName,
    examples,
    returned,
  }: {
    readonly idName: string;
    readonly examples: readonly Json[];
    /** The resource in responses. */
    readonly returned: readonly ObjectSchema[];
  },
): Promise<Field[]> {
  const fields: Field[] = [];
  const { size } = body.properties;
  if (size > fieldsMax)
    throw body.place.error(`it has ${size} properties, of which a table keeps at most ${fieldsMax}`);
  for (const [name, property] of body.properties) {
    if (name === idName) continue;
    const { place } = property;
    const { schema, check, places } = await readProperty(name, property);
    if (isHiddenIn(property, "request")) {
      if (!isCreationTime(name, schema) && !isChangeTime(name, schema))
        place.note(`"${name}" is readOnly, and is not kept`);
      continue;
    }
    const type = fieldTypeOf(schema, check, filterOfProperty(property, "request"));
    const sent = examples.flatMap((each) => (Object.hasOwn(each, name) ? [each[name]] : []));
    const example = await exampleOf({ schema, places }, type, sent);
    if (example === undefined) place.note(`"${name}" has no example, which the conformance tests need`);
    if (hasDefaultBelow(schema)) place.note(`the defaults of the members of "${name}" are not stored`);
    const inResponses = returned
      .map(({ properties }) => properties.get(name))
      .filter((each) => each?.isRequired);
    const usual = [schema, ...inResponses.map((each) => expandSchema((each as Property).place))]
      .map((each) => toFieldValue(type, each.default))
      .find((each) => each !== undefined);
    fields.push({
      ...namesOfField(name),
      type,
      isRequired: property.isRequired,
      example: example ?? placeholder(type),
      default: property.isRequired ? undefined : usual,
      fill: property.isRequired ? toFieldValue(type, schema.default) : undefined,
      schema,
      shown: !isHiddenIn(property, "response") && (filterOfProperty(property, "response") ?? true),
      restrictions: restrictionsText(schema),
      isOthers: false,
      gather: undefined,
    });
  }
  // Loaded late, as few contracts have such members.
  if (body.others.length > 0) {
    const { readOtherMembers } = await import("./other-members.ts");
    fields.push(await readOtherMembers(body, idName, examples));
  }
  return fields;
}

/** Whether a member of an object or of an array's items has a default. */
function hasDefaultBelow({ items, allOf, anyOf, oneOf, ...schema }: Json): boolean {
  const parts = [items, allOf, anyOf, oneOf].flat().filter(isObject);
  const members = Object.values(propertiesOf(schema)).filter(isObject);
  return (
    members.some((member) => member.default !== undefined || hasDefaultBelow(member)) ||
    parts.some(hasDefaultBelow)
  );
}

interface ReadProperty {
  readonly schema: Json;
  readonly check: SchemaCheck | undefined;
  /** The places of schemas that all hold for some values. */
  readonly places: readonly Place[];
}

/**
 * Reads the schema of a property, and its check. Where the alternatives of a body describe it in several
 * ways, its value is of one of them, and the body's own check says of which.
 */
export async function readProperty(name: string, property: Property): Promise<ReadProperty> {
  const { places } = property;
  for (const { place } of places)
    if (!isObject(place.value) && place.value !== true)
      throw place.error(`the property "${name}" must have a schema`);
  const used = usedPlaces(property);
  const schema = schemaOf(property);
  const { value } = property.place;
  if (used.length === 1 && isObject(value) && isEnforced(value))
    return { schema, check: undefined, places: used };
  const all: SchemaCheck[] = [];
  for (const place of used) all.push(await checkOf(place));
  if (used.length === 1) return { schema, check: all[0], places: used };
  if (places.some(({ isCertain }) => isCertain)) return { schema, check: allOf(all), places: used };
  return { schema, check: anyValue, places: used.slice(0, 1) };
}

/** A value for probes of a store where the contract has no example. */
function placeholder(type: FieldType): FieldValue {
  if (type.input === "number") return type.column.sqlite === "INTEGER" ? 0n : "0";
  return type.input === "boolean" ? true : "0";
}

/**
 * The field that a keyword of the schema names, or else the first text that fits. Throws a
 * ContractError.
 */
export function textField(
  place: Place,
  fields: readonly Field[],
  keyword: "x-plantstore-title" | "x-plantstore-group",
): Field | undefined {
  const named = place.at(keyword);
  const isTitle = keyword === "x-plantstore-title";
  const texts = fields.filter(({ type }) => type.input === "text" || Array.isArray(type.input));
  if (named.value === undefined) return texts.find(({ isRequired }) => isRequired === isTitle);
  const field = texts.find(({ name }) => name === named.value);
  if (field !== undefined) return field;
  throw named.error(`${keyword} must name a text of the resource, but is ${JSON.stringify(named.value)}`);
}

/** Whether a property of a response is the time of creation. */
export function isCreationTime(name: string, schema: Json): boolean {
  return isTime(schema) && /^(?:created|date_?created)(?:_?(?:at|on|date|time))?$/i.test(name);
}

/** Whether a property of a response is the time of the last change. */
export function isChangeTime(name: string, schema: Json): boolean {
  return isTime(schema) && /^(?:last_?)?(?:updated|modified)(?:_?(?:at|on|date|time))?$/i.test(name);
}

function isTime(schema: Json): boolean {
  return schema.format === "date-time" && valueTypes(schema).has("string");
}

/** UTF-8 bytes of an id whose contract says nothing of its length. */
const bytesMaxDefault = 255;

/** PostgreSQL indexes texts of at most 2,704 bytes. */
const describedBytesMax = 2_048;

/**
 * Reads the id: the first property with one of some names in the body or in a response, or the
 * parameter of path/{…} itself, if there is none. Rejects with a ContractError.
 */
export async function readId(
  path: string,
  {
    body,
    returned,
    names,
    parameter,
  }: {
    readonly body: ObjectSchema;
    readonly returned: readonly ObjectSchema[];
    /** Names that it may have, the likeliest first. */
    readonly names: readonly string[];
    readonly parameter: Place | undefined;
  },
): Promise<Collection["id"]> {
  const objects = [body, ...returned];
  const name = names.find((each) => objects.some(({ properties }) => properties.has(each))) ?? "id";
  const found =
    objects.map(({ properties }) => properties.get(name)).find((each) => each !== undefined) ??
    (parameter && {
      place: parameter,
      places: [{ place: parameter, isCertain: true }],
      isRequired: false,
    });
  if (found === undefined)
    throw body.place.error(`the resource of POST ${path} must have an id, in the body or in the response`);
  const { place } = found;
  const { schema, check } = await readProperty(name, found);
  const type = withoutOtherPaths(idTypeOf(schema, check, place), otherPathsOf(place.document, path));
  const format = idFormatOf(type, schema);
  const sent = body.properties.get(name);
  const isAccepted = sent !== undefined && !isHiddenIn(sent, "request");
  const isRequired = isAccepted && found.isRequired;
  if (!isRequired && format === undefined)
    throw place.error(
      `the ${name} of POST ${path} must be required, or one that the server can make: any positive integer of some bits, a UUID, or a string with room for 26 characters`,
    );
  return {
    name,
    jsonName: `${JSON.stringify(name)}:`,
    type,
    schema,
    restrictions: restrictionsText(schema),
    format,
    isRequired,
    isAccepted,
  };
}

/**
 * The type without the ids whose path is another one of the description, such as /things/count: no
 * request would reach them.
 */
function withoutOtherPaths(type: FieldType<PlantId>, others: readonly OtherPath[]): FieldType<PlantId> {
  const taken = others.filter(({ example }) => type.parse(example) !== undefined);
  if (taken.length === 0) return type;
  const { expected, convert, parse } = type;
  const accept = (id: PlantId | undefined) =>
    id !== undefined && taken.some(({ isAt }) => isAt(String(id))) ? undefined : id;
  const names = taken.map(({ segment }) => JSON.stringify(segment));
  return {
    ...type,
    expected: `${expected}, other than ${listed(names, 3)}, which ${names.length === 1 ? "is another path" : "are other paths"}`,
    convert: (sent) => accept(convert(sent)),
    parse: (text) => accept(parse(text)),
  };
}

/** Texts that are no segment of a path (RFC 3986, section 5.2.4). */
const unreachable = ["", ".", ".."];

/** The type of ids. Throws a ContractError if they are neither integers nor texts. */
function idTypeOf(schema: Json, check: SchemaCheck | undefined, place: Place): FieldType<PlantId> {
  const type = fieldTypeOf(schema, check);
  const { name, isNullable, fractionDigits } = type.kind;
  if (name === "integer" && !isNullable) return type as FieldType<bigint>;
  // NestJS writes every integer as a number.
  const isDecimal = name === "decimal" && fractionDigits === undefined && !isNullable;
  if (isDecimal && schema.type === "number" && schema.format === undefined)
    return (
      check === undefined ? integer() : restricted(integer(check.expected), check)
    ) as FieldType<bigint>;
  if (!isText(type)) throw place.error(`an id must be an integer or a string, but is ${type.expected}`);
  const bytesMax = schema.maxLength === undefined ? bytesMaxDefault : describedBytesMax;
  const isUuid = schema.format === "uuid" || schema.format === "guid";
  const isShort = isUuid || Number(schema.maxLength) * 4 <= bytesMax;
  const accept = (text: string | undefined) => {
    if (text === undefined || unreachable.includes(text)) return undefined;
    if (!isShort && Buffer.byteLength(text) > bytesMax) return undefined;
    // RFC 9562, section 4: it may be sent in either case.
    return isUuid ? text.toLowerCase() : text;
  };
  const { expected, convert, parse } = type as FieldType<string>;
  return {
    ...(type as FieldType<string>),
    expected: isShort ? expected : `${expected}, of 1 to ${bytesMax} bytes`,
    convert: (sent) => accept(convert(sent)),
    parse: (text) => (isStorable(text) ? accept(parse(text)) : undefined),
  };
}
