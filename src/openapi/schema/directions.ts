// Tells what a schema is for requests and for responses: requests have no readOnly members, and
// responses no writeOnly ones, at any depth.

import {
  type DraftFilter,
  emptyFilter,
  type FilterAlternative,
  type JsonFilter,
  unlessEmpty,
} from "../../json/json-filter.ts";
import { isObject } from "../../json/json-values.ts";
import { mappedSchemas } from "../document/discriminator.ts";
import { isReference, type Place, partsOf, readable } from "../document/place.ts";

export type Direction = "request" | "response";

const keywords = { request: "readOnly", response: "writeOnly" } as const;

/** Keywords with schemas that hold, and with those that may hold. */
const allParts = ["allOf", "anyOf", "oneOf"];

/**
 * Whether a direction does not have a member, which any of the parts and alternatives of its schema may
 * say: what a client must not see is hidden in doubt.
 */
export function isHidden(place: Place, direction: Direction): boolean {
  return partsOf(place, allParts).some((part) => part.own(keywords[direction]).value === true);
}

/**
 * The members of an object that a direction does not have, wherever the parts of its schema describe them.
 *
 * @param among the keywords whose schemas count as parts.
 */
export function hiddenNames(place: Place, direction: Direction, among = ["allOf"]): ReadonlySet<string> {
  const members = partsOf(place, among).flatMap((part) => part.own("properties").members);
  return new Set(members.flatMap(([name, each]) => (isHidden(each, direction) ? [name] : [])));
}

/**
 * The filter that leaves out what a direction does not have of a value of some schemas, all of which
 * describe it; undefined if it has everything.
 */
export function filterOf(places: readonly Place[], direction: Direction): JsonFilter | undefined {
  return unlessEmpty({ ...emptyFilter(), parts: places.map((place) => draftAt(place, direction)) });
}

function draftAt(place: Place, direction: Direction): DraftFilter {
  let isNew = false;
  const draft = place.derive(`filter of ${direction}`, () => {
    isNew = true;
    return emptyFilter();
  });
  // It may lead back to itself.
  if (isNew) addParts(draft, place, direction);
  return draft;
}

function addParts(draft: DraftFilter, place: Place, direction: Direction): void {
  const { value: schema } = place;
  if (!isObject(schema)) return;
  const at = (each: Place) => draftAt(each, direction);
  const below = (each: Place) => (isHidden(each, direction) ? false : at(each));
  if (isReference(schema)) {
    const target = readable(() => place.target);
    if (target !== undefined) draft.parts.push(at(target));
    if (place.isVersion30) return;
  }
  for (const [name, each] of place.own("properties").members) draft.members.set(name, below(each));
  const others = [
    ...place.own("patternProperties").members.map(([, each]) => each),
    ...["additionalProperties", "unevaluatedProperties"].map((keyword) => place.own(keyword)),
  ].map(below);
  draft.others = others.includes(false) ? false : { ...emptyFilter(), parts: others as DraftFilter[] };
  draft.first.push(...place.own("prefixItems").items.map(below));
  draft.items = below(place.own("items"));
  draft.parts.push(...place.own("allOf").items.map(at));
  draft.parts.push(...["if", "then", "else"].map((keyword) => at(place.own(keyword))));
  draft.parts.push(...place.own("dependentSchemas").members.map(([, each]) => at(each)));
  const alternatives = ["anyOf", "oneOf"].flatMap((keyword) => place.own(keyword).items);
  const name = place.own("discriminator", "propertyName").value;
  const mapped = typeof name === "string" ? [...(readable(() => mappedSchemas(place)) ?? [])] : [];
  const addAlternative = (each: Place) => {
    const target = readable(() => each.target);
    const values = mapped.filter(([, { pointer }]) => pointer === target?.pointer).map(([value]) => value);
    const named =
      values.length === 0 ? [] : [[String(name), values.map((value) => JSON.stringify(value))] as const];
    draft.alternatives.push({ values: [...named, ...constantsOf(each)], filter: at(each) });
  };
  for (const each of alternatives) addAlternative(each);
  if (alternatives.length === 0)
    for (const [, each] of mapped) if (each.pointer !== place.pointer) addAlternative(each);
}

/** The members that have one of some scalar values, by the parts of a schema that always hold. */
function constantsOf(place: Place): FilterAlternative["values"] {
  const members = partsOf(place, ["allOf"]).flatMap((part) => part.own("properties").members);
  return members.flatMap(([name, each]) => {
    const { const: constant, enum: listed } = readable(() => each.object) ?? {};
    const values = constant === undefined ? listed : [constant];
    const isScalar = (value: unknown) => ["string", "number", "boolean"].includes(typeof value);
    return Array.isArray(values) && values.every(isScalar)
      ? [[name, values.map((value) => JSON.stringify(value))] as const]
      : [];
  });
}
