// The success of a deletion, as far as it has a body.

import type { Representation } from "../contract.ts";
import { readObjectSchema } from "./body-schema.ts";
import type { Success } from "./described-operation.ts";
import { expandSchema } from "./expanded-schema.ts";
import { valueTypes } from "./field-type.ts";
import {
  constantOf,
  hasProperties,
  memberJson,
  type Resource,
  readRepresentation,
  wrappingMember,
} from "./representations.ts";

/** Names of members of the response to a deletion that say that it is done. */
const messageNames = /^(?:message|msg|detail|description|result|status)$/i;
const doneNames = /^(?:success|ok|deleted|done|acknowledged)$/i;

/**
 * The success of a deletion: the resource as it was, or JSON that says that it is gone. Rejects with
 * a ContractError.
 */
export async function readDeletion(
  { schema: place, hasContent }: Success,
  resource: Resource,
  one: string,
): Promise<{ readonly response: Representation | undefined; readonly content: string | undefined }> {
  const nothing = { response: undefined, content: undefined };
  if (!hasContent || place === undefined) return nothing;
  const types = valueTypes(expandSchema(place));
  const message = JSON.stringify(`The ${one} was deleted.`);
  if (!hasProperties(place)) {
    const content = types.has("object")
      ? "{}"
      : types.has("string")
        ? message
        : types.has("null")
          ? "null"
          : "true";
    return { response: undefined, content };
  }
  const object = readObjectSchema(place);
  const names = resource.fields.map(({ name }) => name);
  const isResource = names.some((name) => object.properties.has(name));
  if (isResource || wrappingMember(object, resource.id.name, names) !== undefined)
    return { response: await readRepresentation(place, resource), content: undefined };
  const members: string[] = [];
  for (const [name, property] of object.properties) {
    const kinds = valueTypes(expandSchema(property.place));
    const { enum: values, const: constant, format } = expandSchema(property.place);
    const isFree = (values ?? constant ?? format) === undefined;
    if (isFree && kinds.has("string") && messageNames.test(name)) members.push(memberJson(name, message));
    else if (kinds.has("boolean") && isFree && doneNames.test(name)) members.push(memberJson(name, "true"));
    else if (property.isRequired) {
      const json = await constantOf(name, property, resource);
      if (json === undefined) throw place.error(`nothing fits "${name}" in its response`);
      members.push(memberJson(name, json));
    }
  }
  return { response: undefined, content: `{${members.join(",")}}` };
}
