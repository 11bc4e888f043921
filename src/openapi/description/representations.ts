// Reads the members that a resource has in a response.

import {
  type Collection,
  type Field,
  type Representation,
  type Shown,
  wholeOf,
} from "../../contract/contract.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { bothFilters, type JsonFilter } from "../../json/json-filter.ts";
import type { Json } from "../../json/json-values.ts";
import { type Place, readable } from "../document/place.ts";
import { filterOf } from "../schema/directions.ts";
import {
  filterOfProperty,
  isHiddenIn,
  type ObjectSchema,
  type Property,
  readObjectSchema,
  schemaOf,
} from "./body-schema.ts";
import type { Success } from "./described-operation.ts";
import { exampleOf } from "./example-values.ts";
import { fieldTypeOf, valueTypes } from "./field-type.ts";
import { isChangeTime, isCreationTime, readProperty } from "./fields.ts";

/** The properties of a resource, as responses may have them. */
export interface Resource extends Pick<Collection, "id" | "fields"> {
  /** The body of the create. */
  readonly sent?: ObjectSchema;
}

/**
 * Reads what a resource is in a success; undefined if that has no body. Rejects with a ContractError if the
 * success requires what is not stored.
 */
export async function readSuccess(success: Success, resource: Resource): Promise<Representation | undefined> {
  if (!success.hasContent) return undefined;
  if (success.schema === undefined) {
    success.place.note("it describes no JSON; the response is what is stored");
    return wholeOf(resource);
  }
  return await readRepresentation(success.schema, resource);
}

/**
 * Reads what a resource is by a schema, which may have it in a member. Rejects with a ContractError if that
 * requires what is not stored.
 */
export async function readRepresentation(place: Place, resource: Resource): Promise<Representation> {
  const outer = readObjectSchema(place);
  const names = resource.fields.map(({ name }) => name);
  const member = wrappingMember(outer, resource.id.name, names);
  if (member === undefined) return await readMembers(outer, resource);
  const inner = await readMembers(
    readObjectSchema((outer.properties.get(member) as Property).place),
    resource,
  );
  const others: string[] = [];
  for (const [name, property] of outer.properties) {
    if (name === member || !property.isRequired) continue;
    const json = await constantOf(name, property);
    if (json === undefined) throw place.error(`nothing fits "${name}" in its response`);
    others.push(memberJson(name, json));
  }
  const before = [...others, `${JSON.stringify(member)}:`].join(",");
  return { ...inner, wrapper: [`{${before}`, "}"] };
}

/**
 * The member of an object that has the resource, such as `{"data": {…}}`; undefined for none.
 *
 * @param names of properties of the resource.
 */
export function wrappingMember(
  { properties }: ObjectSchema,
  idName: string,
  names: Iterable<string>,
): string | undefined {
  if ([idName, ...names].some((name) => properties.has(name))) return undefined;
  const objects = [...properties].filter(([, { place }]) => hasProperties(place));
  const has = (name: string) => (member: (typeof objects)[number]) =>
    readObjectSchema(member[1].place).properties.has(name);
  const ofId = objects.find(has(idName))?.[0];
  return ofId ?? [...names].map((name) => objects.find(has(name))?.[0]).find((found) => found !== undefined);
}

/** Whether a place has the schema of an object with properties. */
export function hasProperties(place: Place): boolean {
  return readable(() => readObjectSchema(place).properties.size > 0) === true;
}

export const memberJson = (name: string, json: string) => `${JSON.stringify(name)}:${json}`;

async function readMembers(object: ObjectSchema, resource: Resource): Promise<Representation> {
  const { place } = object;
  const { id, fields, sent } = resource;
  const schemas = new Map([...object.properties].map(([name, each]) => [name, schemaOf(each)]));
  const shows = ({
    name,
    schema,
    shown = true,
    isOthers,
  }: Pick<Field, "name" | "schema"> & Partial<Field>): Shown => {
    if (isOthers === true)
      return object.isOpen && shown !== false && bothFilters(shown, filterOf([place], "response"));
    const [described, property] = [schemas.get(name), object.properties.get(name)];
    if (described === undefined || property === undefined) return object.isFree && shown;
    if (shown === false || isHiddenIn(property, "response")) return false;
    const types = valueTypes(described).add("null");
    if (isWider(schema, described))
      property.place.note(`a response may have another "${name}" than its enum has, as a body may`);
    if ([...valueTypes(schema)].every((type) => types.has(type)))
      return bothFilters(shown, filterOfProperty(property, "response"));
    if (property.isRequired && !place.isLenient)
      throw place.error(`its response has another type for "${name}", which it requires`);
    property.place.note(`"${name}" is left out of responses, as it has another type there`);
    return false;
  };
  const known = new Set(fields.map(({ name }) => name).concat(id.name));
  const others = [...schemas].filter(([name]) => !known.has(name));
  const nameOf = (isWanted: (name: string, schema: Json) => boolean) =>
    others.find(([name, schema]) => isWanted(name, schema))?.[0];
  const [createdName, updatedName] = [nameOf(isCreationTime), nameOf(isChangeTime)];
  const urlName = nameOf(
    (name, schema) => /^(?:url|self|href)$/.test(name) && valueTypes(schema).has("string"),
  );
  const hasId = shows(id) !== false;
  const always = new Set([createdName, updatedName, urlName, ...(hasId ? [id.name] : [])]);
  const shown: Shown[] = [];
  const absent: (string | undefined)[] = [];
  for (const [index, field] of fields.entries()) {
    const { name, type } = field;
    const property = object.properties.get(name);
    const own = shows(field);
    const inBody = type.kind.name === "json" ? sent?.properties.get(name) : undefined;
    const added = inBody && property && (await additionsOf(inBody, property));
    shown.push(own && bothFilters(own, added));
    if (!shown[index]) continue;
    if (field.isRequired) always.add(name);
    else if (property?.isRequired) {
      absent[index] =
        field.default === undefined ? await constantOf(name, property) : type.toJson(field.default);
      if (absent[index] !== undefined) always.add(name);
    }
  }
  const constants: string[] = [];
  for (const [name, property] of object.properties) {
    const schema = schemas.get(name) ?? {};
    if (always.has(name) || isHiddenIn(property, "response")) continue;
    const isConstant = !known.has(name) && onlyValue(schema) !== undefined;
    if (!property.isRequired && !isConstant) continue;
    const json = await constantOf(name, property);
    if (json === undefined) throw place.error(`its response requires "${name}", ${reasonOf(resource, name)}`);
    constants.push(memberJson(name, json));
  }
  const [undescribed] = object.undescribed.filter((name) => !always.has(name));
  if (undescribed !== undefined)
    throw place.error(`its response requires "${undescribed}", ${reasonOf(resource, undescribed)}`);
  return {
    hasId,
    fields: shown,
    absent: absent.length === 0 ? undefined : absent,
    createdName,
    updatedName,
    urlName,
    constants,
    wrapper: undefined,
  };
}

/** The members that a response requires below a property. Loaded late, as few contracts have objects in objects. */
async function additionsOf(sent: Property, returned: Property): Promise<JsonFilter | undefined> {
  const { additionsTo } = await import("./response-additions.ts");
  return await additionsTo(sent, returned, constantOf);
}

/**
 * The JSON of a required member that is not stored: the only value that its schema accepts, its
 * default, or null; or else one that is made up, where that is allowed.
 */
export async function constantOf(name: string, property: Property): Promise<string | undefined> {
  const { schema, check, places } = await readProperty(name, property);
  const value = onlyValue(schema) ?? schema.default ?? (valueTypes(schema).has("null") ? null : undefined);
  if (value !== undefined) return toExactJson(value);
  if (!property.place.isLenient) return undefined;
  const type = fieldTypeOf(schema, check);
  const example = await exampleOf({ schema, places }, type, type.kind.name === "boolean" ? [false] : []);
  return example === undefined ? undefined : type.toJson(example);
}

/** The only value that a schema accepts; undefined if it accepts others. */
function onlyValue({ const: constant, enum: values }: Json): unknown {
  return constant === undefined && Array.isArray(values) && values.length === 1 ? values[0] : constant;
}

/** Whether a schema accepts more than the list of values of another one. */
function isWider(schema: Json, listed: Json): boolean {
  const valuesOf = ({ enum: values, const: constant }: Json) =>
    constant === undefined ? values : [constant];
  const [own, others] = [valuesOf(schema), valuesOf(listed)];
  if (!Array.isArray(others)) return false;
  const known = new Set(others.map((value) => toExactJson(value)));
  return !Array.isArray(own) || own.some((value) => !known.has(toExactJson(value)));
}

function reasonOf({ fields }: Resource, name: string): string {
  const isField = fields.some((field) => field.name === name);
  return isField ? "which is optional in the body" : "which the body does not have";
}
