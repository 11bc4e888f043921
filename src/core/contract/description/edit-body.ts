// The bodies of PUT and PATCH: the fields that they may have, and their schemas.

import type { Contract, EditBody } from "../contract.ts";
import { readObjectSchema, readOnlyNames } from "./body-schema.ts";
import type { Checks } from "./checks.ts";
import { type DescribedOperation, isJson, isPatchBody, jsonMediaOf } from "./described-operation.ts";
import { referencedName } from "./names.ts";

/** Reads the body of a replacement or a change. Rejects with a ContractError. */
export async function readEditBody(
  name: "replace" | "change",
  operation: DescribedOperation,
  { id, fields, words }: Pick<Contract, "id" | "fields" | "words">,
  checks: Checks,
): Promise<EditBody> {
  const requestBody = operation.place.at("requestBody");
  const media = jsonMediaOf(requestBody, name === "change" ? isPatchBody : isJson)?.[1];
  if (media === undefined) throw requestBody.error("it describes no body of JSON");
  const schema = media.at("schema");
  const object = readObjectSchema(schema);
  const ignored = readOnlyNames(object);
  const members: string[] = [];
  for (const [property, { isRequired, place }] of object.properties) {
    if (property === id.name || ignored.includes(property)) continue;
    if (fields.some((field) => field.name === property)) members.push(property);
    else if (isRequired) throw schema.error(`its body requires "${property}", which is not kept`);
    else place.note(`"${property}" is not kept`);
  }
  const own = referencedName(schema.value);
  return {
    name: own ?? (name === "change" ? `merge patch of ${words.one}` : words.body),
    members,
    ignored,
    check: await checks.of(schema, ignored),
  };
}
