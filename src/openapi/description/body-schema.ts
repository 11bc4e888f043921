// Reads the properties that the schema of an object has, wherever its parts name them.

import type { JsonFilter } from "../../json/json-filter.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { mappedSchemas } from "../document/discriminator.ts";
import { isReference, type Place } from "../document/place.ts";
import { type Direction, filterOf, isHidden } from "../schema/directions.ts";
import { isAnnotation } from "../schema/restrictions.ts";
import { expandSchema, mergeAllOf } from "./expanded-schema.ts";

interface PropertyPlace {
  readonly place: Place;
  readonly isCertain: boolean;
}

/** A property of an object. */
export interface Property {
  /** The place of its first schema. */
  readonly place: Place;
  /** The places of its schemas; all that are certain hold. */
  readonly places: readonly PropertyPlace[];
  readonly isRequired: boolean;
}

export interface ObjectSchema {
  readonly place: Place;
  readonly properties: ReadonlyMap<string, Property>;
  /** Names that are required, but are no properties. */
  readonly undescribed: readonly string[];
  /** Whether its properties, those that are required, and `isOpen` are all that it says. */
  readonly isEnforced: boolean;
  /** Whether other members are allowed, where `isEnforced`. */
  readonly isOpen: boolean;
  /** The parts that describe members by additionalProperties or patternProperties. */
  readonly others: readonly Place[];
  /** Whether it names no properties at all, so that it may have any. */
  readonly isFree: boolean;
}

/** Reads the schema of an object. Throws a ContractError for one of something else. */
export function readObjectSchema(place: Place): ObjectSchema {
  const found = new Properties();
  found.add(place, true, new Set());
  if (!found.isObject) throw place.error("it is not the schema of an object with properties");
  const { places, required } = found;
  const isOpen = found.closed === 0;
  return {
    place,
    properties: new Map(
      [...places].map(([name, own]) => {
        const [{ place }] = own;
        return [name, { place, places: own, isRequired: required.has(name) }];
      }),
    ),
    undescribed: [...required].filter((name) => !places.has(name)),
    isEnforced: found.isEnforced && (isOpen || found.parts === 1),
    isOpen,
    others: found.others,
    isFree: isOpen && found.parts === 0,
  };
}

class Properties {
  readonly places = new Map<string, [PropertyPlace, ...PropertyPlace[]]>();
  readonly required = new Set<string>();
  readonly others: Place[] = [];
  isObject = false;
  isEnforced = true;
  /** The parts that name properties, and those that allow no others. */
  parts = 0;
  closed = 0;

  /**
   * @param isCertain whether the schema holds for every body.
   * @param enclosing the pointers of the schemas that this one is in.
   */
  add(place: Place, isCertain: boolean, enclosing: ReadonlySet<string>): void {
    const { value: schema } = place;
    if (!isObject(schema) || enclosing.has(place.pointer)) return;
    const isOther = schema.type !== undefined && ![schema.type].flat().includes("object");
    if (isOther && !isCertain) return;
    if (isOther) throw place.own("type").error("it must be the schema of an object");
    const inside = new Set([...enclosing, place.pointer]);
    const addAll = (places: readonly Place[], areCertain: boolean) => {
      for (const each of places) this.add(each, areCertain, inside);
    };
    if (isReference(schema)) {
      this.add(place.target, isCertain, inside);
      // OpenAPI 3.0 ignores the keywords beside a reference.
      if (place.isVersion30) return;
    }
    this.#addOwn(place, isCertain);
    addAll(place.own("allOf").items, isCertain);
    const conditional = ["anyOf", "oneOf"].map((keyword) => place.own(keyword).items);
    for (const parts of conditional) {
      addAll(parts, false);
      if (isCertain) for (const name of requiredInAll(parts)) this.required.add(name);
    }
    addAll([place.own("if"), place.own("then"), place.own("else")], false);
    addAll(
      place.own("dependentSchemas").members.map(([, each]) => each),
      false,
    );
    const isDiscriminator =
      schema.discriminator !== undefined && conditional.every((parts) => parts.length === 0);
    if (isDiscriminator) addAll([...mappedSchemas(place).values()], false);
  }

  #addOwn(place: Place, isCertain: boolean): void {
    const schema = place.value as Readonly<Record<string, unknown>>;
    const { type, properties, required, additionalProperties } = schema;
    if (type === "object" || isObject(properties)) this.isObject = true;
    if (isObject(properties)) {
      this.parts++;
      for (const [name, schema] of Object.entries(properties)) {
        // No body may have it.
        if (schema === false) {
          this.isEnforced = false;
          continue;
        }
        const found = { place: place.own("properties", name), isCertain };
        const before = this.places.get(name);
        if (before !== undefined) this.isEnforced = false;
        this.places.set(name, before === undefined ? [found] : [...before, found]);
      }
    }
    if (isCertain && Array.isArray(required))
      for (const name of required) if (typeof name === "string") this.required.add(name);
    if (additionalProperties === false) this.closed++;
    if (describesMembers(additionalProperties) || describesMembers(schema.patternProperties))
      this.others.push(place);
    this.isEnforced &&= Object.entries(schema).every(([keyword, value]) => {
      if (keyword === "additionalProperties") return typeof value === "boolean";
      if (keyword === "type") return value === "object";
      const isPart = ["properties", "required", "allOf", "$ref"].includes(keyword);
      return isPart || (isAnnotation(keyword) && keyword !== "discriminator");
    });
  }
}

/** Whether a keyword says more of members than that there may be any. */
function describesMembers(value: unknown): boolean {
  return isObject(value) && Object.keys(value).length > 0;
}

/** The names that each of some alternatives requires. */
function requiredInAll(alternatives: readonly Place[]): ReadonlySet<string> {
  const [first, ...others] = alternatives.map((each) => {
    const found = new Properties();
    found.add(each, true, new Set());
    return found.required;
  });
  return new Set([...(first ?? [])].filter((name) => others.every((each) => each.has(name))));
}

/** The places of a property's schemas that hold for every body; all of them where none does. */
export function usedPlaces({ places }: Property): Place[] {
  const certain = places.filter(({ isCertain }) => isCertain);
  return (certain.length > 0 ? certain : places).map(({ place }) => place);
}

/** The schema of a property: all of those that hold, or one of those that may hold. */
export function schemaOf(property: Property): Json {
  const [first = {}, ...others] = usedPlaces(property).map(expandSchema);
  if (others.length === 0) return first;
  const isCertain = property.places.some((each) => each.isCertain);
  return isCertain ? mergeAllOf({ allOf: [first, ...others] }) : { anyOf: [first, ...others] };
}

/** The properties that clients cannot set. */
export function readOnlyNames({ properties }: ObjectSchema): string[] {
  return [...properties].flatMap(([name, property]) => (isHiddenIn(property, "request") ? [name] : []));
}

/** Whether a direction does not have a property, by any of its schemas. */
export function isHiddenIn({ places }: Property, direction: Direction): boolean {
  return places.some(({ place }) => isHidden(place, direction));
}

/** The filter of the values of a property; undefined if a direction has everything. */
export function filterOfProperty({ places }: Property, direction: Direction): JsonFilter | undefined {
  return filterOf(
    places.map(({ place }) => place),
    direction,
  );
}
