// The schemas among which the discriminator of a schema chooses (OpenAPI 3.1, section 4.8.25).

import { pointerTo, referencedMembers } from "../json/json-pointer.ts";
import { isObject } from "../json/json-values.ts";
import { isReference, type Place } from "./place.ts";

/** The schemas by the values that name them: those of the mapping, and those that extend this one. */
export function mappedSchemas(place: Place): Map<string, Place> {
  const found = new Map<string, Place>();
  const mapping = place.own("discriminator", "mapping");
  const schemas = place.document.own("components", "schemas");
  for (const [value, target] of mapping.members) {
    const reference = String(target.value);
    const schema = reference.startsWith("#")
      ? place.document.own(...referencedMembers(reference))
      : schemas.own(reference);
    if (schema.value === undefined) throw target.error(`the schema ${reference} has no target`);
    found.set(value, schema);
  }
  const mapped = new Set([...found.values()].map(({ pointer }) => pointer));
  const heirs = heirsOf(place, schemas).filter(([, { pointer }]) => !mapped.has(pointer));
  for (const [name, heir] of heirs) found.set(name, heir);
  const [, own] = /^\/components\/schemas\/([^/~]+)$/.exec(place.pointer) ?? [];
  if (own !== undefined && heirs.length > 0) found.set(own, place);
  return found;
}

/** The named schemas whose allOf leads to a schema. */
function heirsOf(place: Place, schemas: Place): [name: string, heir: Place][] {
  const found = new Map<string, Place>();
  const follow = (pointer: string) => {
    for (const [name, heir] of schemas.members) {
      const extendsIt = heir
        .own("allOf")
        .items.some(
          ({ value }) => isReference(value) && pointerTo("", ...referencedMembers(value.$ref)) === pointer,
        );
      if (!extendsIt || found.has(name)) continue;
      found.set(name, heir);
      follow(heir.pointer);
    }
  };
  if (isObject(schemas.value)) follow(place.pointer);
  return [...found];
}
