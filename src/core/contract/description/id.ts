// The id of a resource, read from the body or the response of its create.

import type { Contract } from "../contract.ts";
import type { Json } from "../json/json-values.ts";
import { idFormatOf, type PlantId } from "../plant-id.ts";
import { type FieldType, isStorable } from "../values/stored-types.ts";
import type { ObjectSchema, Property } from "./body-schema.ts";
import type { Checks } from "./checks.ts";
import { fieldTypeOf } from "./field-type.ts";
import { readProperty } from "./fields.ts";
import type { Place } from "./place.ts";

/** UTF-8 bytes of an id whose contract says nothing of its length. */
const bytesMaxDefault = 255;

/** PostgreSQL indexes texts of at most 2,704 bytes. */
const describedBytesMax = 2_048;

/**
 * Reads the property of the body or the response that the parameter of path/{…} names, or else
 * "id". Rejects with a ContractError.
 */
export async function readId(
  path: string,
  {
    body,
    returned,
    named = "id",
  }: {
    readonly body: ObjectSchema;
    readonly returned: ObjectSchema | undefined;
    readonly named: string | undefined;
  },
  checks: Checks,
): Promise<Contract["id"]> {
  const has = (object: ObjectSchema | undefined, name: string) => object?.properties.has(name) === true;
  const name = [named, "id"].find((each) => has(body, each) || has(returned, each));
  if (name === undefined)
    throw body.place.error(`the resource of POST ${path} must have an id, in the body or in the response`);
  const isSent = has(body, name);
  const object = isSent ? body : (returned as ObjectSchema);
  const property = object.properties.get(name) as Property;
  const { place, isRequired: isNeeded } = property;
  const { schema, check } = await readProperty(name, property, checks);
  const type = idTypeOf(schema, fieldTypeOf(schema, check), place);
  const format = idFormatOf(type);
  const isAccepted = isSent && schema.readOnly !== true;
  const isRequired = isAccepted && isNeeded;
  if (!isRequired && format === undefined)
    throw place.error(
      `the ${name} of POST ${path} must be required, or one that the server can make: any positive int64, a UUID, or a string of 26 characters`,
    );
  return { name, type, schema, format, isRequired, isAccepted };
}

/** Texts that are no segment of a path (RFC 3986, section 5.2.4). */
const unreachable = ["", ".", ".."];

/** The type of ids. Throws a ContractError if they are neither integers nor texts. */
function idTypeOf(schema: Json, type: FieldType, place: Place): FieldType<PlantId> {
  if (type.kind === "integer") return type as FieldType<bigint>;
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
