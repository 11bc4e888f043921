// What a resource is in a response: the members that it has there.

import { type Contract, type Field, type Representation, wholeOf } from "../contract.ts";
import type { Json } from "../json/json-values.ts";
import { type ObjectSchema, readObjectSchema } from "./body-schema.ts";
import type { Success } from "./described-operation.ts";
import { expandSchema } from "./expanded-schema.ts";
import { valueTypes } from "./field-type.ts";
import type { Place } from "./place.ts";

/** The properties of a resource, as responses may have them. */
export type Resource = Pick<Contract, "id" | "fields">;

/**
 * What a resource is in a success; undefined if that has no body. Throws a ContractError if the
 * success requires what is not stored.
 */
export function readSuccess(success: Success, resource: Resource): Representation | undefined {
  if (!success.hasContent) return undefined;
  if (success.schema === undefined) {
    success.place.note("it describes no JSON; the response is what is stored");
    return wholeOf(resource);
  }
  return readRepresentation(success.schema, resource);
}

/** What a resource is by a schema. Throws a ContractError if that requires what is not stored. */
export function readRepresentation(place: Place, resource: Resource): Representation {
  const object = readObjectSchema(place);
  const { id, fields } = resource;
  const schemas = schemasOf(object);
  const shows = ({ name, schema }: Pick<Field, "name" | "schema">) => {
    const described = schemas.get(name);
    if (described === undefined) return object.isFree;
    if (isWriteOnly(schema) || isWriteOnly(described)) return false;
    const types = valueTypes(described).add("null");
    if ([...valueTypes(schema)].every((type) => types.has(type))) return true;
    if (object.properties.get(name)?.isRequired)
      throw place.error(`its response has another type for "${name}", which it requires`);
    object.properties
      .get(name)
      ?.place.note(`"${name}" is left out of responses, as it has another type there`);
    return false;
  };
  const createdName = [...schemas].find(
    ([name, schema]) => isCreationTime(name, schema) && !fields.some((field) => field.name === name),
  )?.[0];
  const representation: Representation = {
    hasId: shows(id),
    fields: fields.map(shows),
    createdName,
  };
  const always = new Set([id.name, createdName]);
  for (const [index, { name, isRequired }] of fields.entries())
    if (isRequired && representation.fields[index]) always.add(name);
  for (const [name, { isRequired }] of object.properties)
    if (isRequired && !always.has(name) && !isWriteOnly(schemas.get(name) ?? {}))
      throw place.error(`its response requires "${name}", ${reasonOf(resource, name)}`);
  const [undescribed] = object.undescribed.filter((name) => !always.has(name));
  if (undescribed !== undefined)
    throw place.error(`its response requires "${undescribed}", ${reasonOf(resource, undescribed)}`);
  return representation;
}

function reasonOf({ fields }: Resource, name: string): string {
  const isField = fields.some((field) => field.name === name);
  return isField ? "which is optional in the body" : "which the body does not have";
}

function schemasOf({ properties }: ObjectSchema): Map<string, Json> {
  const all = [...properties].map(([name, { places }]) => {
    const parts = places.map(({ place }) => expandSchema(place));
    const isCertain = places.every((each) => each.isCertain);
    const whole: Json = parts.length === 1 ? (parts[0] as Json) : { [isCertain ? "allOf" : "anyOf"]: parts };
    return [name, whole] as const;
  });
  return new Map(all);
}

function isWriteOnly(schema: Json): boolean {
  return schema.writeOnly === true;
}

/** Whether a property of a response is the time of creation. */
export function isCreationTime(name: string, schema: Json): boolean {
  const isTime = schema.type === "string" && schema.format === "date-time";
  return isTime && ["created_at", "createdAt"].includes(name);
}
