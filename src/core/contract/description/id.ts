// The id of a resource, read from the body or the response of its create.

import type { Collection } from "../contract.ts";
import type { Json } from "../json/json-values.ts";
import { idFormatOf, type PlantId } from "../plant-id.ts";
import type { SchemaCheck } from "../schema/schema-check.ts";
import { type FieldType, integer, isStorable, restricted } from "../values/stored-types.ts";
import type { ObjectSchema, Property } from "./body-schema.ts";
import { fieldTypeOf } from "./field-type.ts";
import { readProperty } from "./fields.ts";
import type { Place } from "./place.ts";

/** UTF-8 bytes of an id whose contract says nothing of its length. */
const bytesMaxDefault = 255;

/** PostgreSQL indexes texts of at most 2,704 bytes. */
const describedBytesMax = 2_048;

/**
 * Reads the property of the body or of a response that the parameter of path/{…} names, or else "id";
 * or that parameter itself, if there is none. Rejects with a ContractError.
 */
export async function readId(
  path: string,
  {
    body,
    returned,
    named = "id",
    parameter,
  }: {
    readonly body: ObjectSchema;
    readonly returned: readonly ObjectSchema[];
    readonly named: string | undefined;
    readonly parameter: Place | undefined;
  },
): Promise<Collection["id"]> {
  const objects = [body, ...returned];
  const name = [named, "id"].find((each) => objects.some(({ properties }) => properties.has(each))) ?? "id";
  const found =
    objects.map(({ properties }) => properties.get(name)).find((each) => each !== undefined) ??
    (parameter && ofParameter(parameter));
  if (found === undefined)
    throw body.place.error(`the resource of POST ${path} must have an id, in the body or in the response`);
  const { place } = found;
  const { schema, check } = await readProperty(name, found);
  const type = idTypeOf(schema, check, place);
  const format = idFormatOf(type, schema);
  const isAccepted = body.properties.has(name) && schema.readOnly !== true;
  const isRequired = isAccepted && found.isRequired;
  if (!isRequired && format === undefined)
    throw place.error(
      `the ${name} of POST ${path} must be required, or one that the server can make: any positive integer of some bits, a UUID, or a string with room for 26 characters`,
    );
  return { name, type, schema, format, isRequired, isAccepted };
}

function ofParameter(place: Place): Property {
  return { place, places: [{ place, isCertain: true }], isRequired: false };
}

/** Texts that are no segment of a path (RFC 3986, section 5.2.4). */
const unreachable = ["", ".", ".."];

/** The type of ids. Throws a ContractError if they are neither integers nor texts. */
function idTypeOf(schema: Json, check: SchemaCheck | undefined, place: Place): FieldType<PlantId> {
  const type = fieldTypeOf(schema, check);
  if (type.kind === "integer") return type as FieldType<bigint>;
  // NestJS writes every integer as a number.
  if (type.kind === "decimal" && schema.type === "number" && schema.format === undefined)
    return (
      check === undefined ? integer() : restricted(integer(check.expected), check)
    ) as FieldType<bigint>;
  if (type.kind !== "text")
    throw place.error(`an id must be an integer or a string, but is ${type.expected}`);
  const bytesMax = schema.maxLength === undefined ? bytesMaxDefault : describedBytesMax;
  const isUuid = schema.format === "uuid" || schema.format === "guid";
  const isShort = isUuid || Number(schema.maxLength) * 4 <= bytesMax;
  const accept = (text: string | undefined) => {
    if (text === undefined || unreachable.includes(text)) return undefined;
    if (!isShort && Buffer.byteLength(text) > bytesMax) return undefined;
    // RFC 9562, section 4: it may be sent in either case.
    return isUuid ? text.toLowerCase() : text;
  };
  const { expected, fromJson, parse } = type as FieldType<string>;
  return {
    ...(type as FieldType<string>),
    expected: isShort ? expected : `${expected}, of 1 to ${bytesMax} bytes`,
    fromJson: (...sent) => accept(fromJson(...sent)),
    parse: (text) => (isStorable(text) ? accept(parse(text)) : undefined),
  };
}
