// The bodies of PUT and PATCH: the fields that they may have, and their schemas.

import type { Collection, EditBody } from "../contract.ts";
import { readObjectSchema, readOnlyNames } from "./body-schema.ts";
import { checkOf } from "./checks.ts";
import { type DescribedOperation, isJson, isPatchBody, jsonMediaOf } from "./described-operation.ts";
import { schemaName } from "./place.ts";
import type { Resource } from "./representations.ts";

/** Reads the body of a replacement or a change. Rejects with a ContractError. */
export async function readEditBody(
  name: "replace" | "change",
  operation: DescribedOperation,
  { id, fields, words, wrapper }: Resource & Pick<Collection, "words" | "wrapper">,
): Promise<EditBody> {
  const requestBody = operation.place.at("requestBody");
  const media = jsonMediaOf(requestBody, name === "change" ? isPatchBody : isJson)?.[1];
  if (media === undefined) throw requestBody.error("it describes no body of JSON");
  const described = media.at("schema");
  const sent = readObjectSchema(described);
  const inner = wrapper === undefined ? undefined : sent.properties.get(wrapper);
  const object = inner === undefined ? sent : readObjectSchema(inner.place);
  const schema = object.place;
  const ignored = readOnlyNames(object);
  const members: string[] = [];
  for (const [property, { isRequired, place }] of object.properties) {
    if (property === id.name || ignored.includes(property)) continue;
    if (fields.some((field) => field.name === property)) members.push(property);
    else if (isRequired) throw schema.error(`its body requires "${property}", which is not kept`);
    else place.note(`"${property}" is not kept`);
  }
  // A schema that names nothing takes everything.
  if (object.isFree)
    for (const { name: field, schema: own } of fields) if (own.readOnly !== true) members.push(field);
  const own = schemaName(described);
  return {
    name: own ?? (name === "change" ? `merge patch of ${words.one}` : words.body),
    members,
    ignored,
    wrapper: inner === undefined ? undefined : wrapper,
    check: await checkOf(schema, ignored),
  };
}
