// Finds the schemas among which a discriminator chooses (OpenAPI 3.1, section 4.8.25).

import { pointerTo, referencedMembers } from "../../json/json-pointer.ts";
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
  const extended = extensionsIn(schemas);
  const found = new Set(extended.get(place.pointer));
  // A set also iterates over what is added meanwhile.
  for (const name of found) for (const heir of extended.get(schemas.own(name).pointer) ?? []) found.add(heir);
  return [...found].map((name) => [name, schemas.own(name)]);
}

/** The names of schemas by the pointers of those that they extend. */
type Extensions = ReadonlyMap<string, readonly string[]>;

/** Found once: for each schema it would take quadratic time. */
function extensionsIn(schemas: Place): Extensions {
  return schemas.derive("extensions", () => {
    const found = new Map<string, string[]>();
    for (const [name, schema] of schemas.members)
      for (const { value } of schema.own("allOf").items) {
        if (!isReference(value)) continue;
        const pointer = pointerTo("", ...referencedMembers(value.$ref));
        found.set(pointer, [...(found.get(pointer) ?? []), name]);
      }
    return found;
  });
}
