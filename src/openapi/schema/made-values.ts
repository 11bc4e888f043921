// Makes values from schemas, where a description has no example that fits: for samples and placeholders,
// for the responses of a sandbox, and for the requests of the conformance kit. A value need not fit:
// whoever asks for some takes the first one that its check accepts.

import { faultIn, type SchemaCheck } from "../../contract/schema-check.ts";
import { toExactJson } from "../../json/exact-json.ts";
import { referencedMembers } from "../../json/json-pointer.ts";
import { isObject, type Json, numberText } from "../../json/json-values.ts";
import { mappedSchemas } from "../document/discriminator.ts";
import { isReference, type Place, type Reference, readable } from "../document/place.ts";
import { type Direction, isHidden } from "./directions.ts";
import { numberFormat } from "./formats.ts";
import { fromVersion30, propertiesOf, requiredOf } from "./restrictions.ts";
import { sampleNumber } from "./sample-numbers.ts";
import { sampleText } from "./sample-texts.ts";

interface Attempt {
  /** Which values of a description are taken over: all, those that are no objects or arrays, or none. */
  readonly examples: "all" | "scalars" | "none";
  /** Whether optional members are made, too. */
  readonly isFull: boolean;
  /** Which of several alternatives, and of values that are as good, is made. */
  readonly choice: number;
}

/** The most telling value comes first; a smaller one fits more often. */
const attempts: readonly Attempt[] = [
  { examples: "all", isFull: true, choice: 0 },
  ...[0, 1, 2].map((choice) => ({ examples: "scalars", isFull: true, choice }) as const),
  { examples: "none", isFull: true, choice: 0 },
  { examples: "all", isFull: false, choice: 0 },
  { examples: "scalars", isFull: false, choice: 0 },
  ...[0, 1, 2, 3, 4, 5].map((choice) => ({ examples: "none", isFull: false, choice }) as const),
];

/** Parts of one value: schemas with many optional members would have no end. */
const partsMax = 500;

/** Objects and arrays within each other; a full value has no optional members from there on. */
const depthMax = { full: 8, small: 24 };

/** Thrown where no value is found; another attempt may find one. */
class NoValue extends Error {}

interface Wanted {
  /** Values of requests have no readOnly members, and only those that are required. */
  readonly direction: Direction;
  /** Draws numbers from 0 to 1, for values that differ each time and are not the description's. */
  readonly random?: (() => number) | undefined;
}

/** Makes values for schemas that all hold, the most telling first. */
export function* madeValues(places: readonly Place[], { direction, random }: Wanted): Generator<unknown> {
  let isTooLarge = false;
  for (const attempt of attempts) {
    if ((random !== undefined && attempt.examples !== "none") || (isTooLarge && attempt.isFull)) continue;
    if (attempt.isFull && direction === "request") continue;
    const choice = attempt.choice + Math.floor((random?.() ?? 0) * 1_000_000);
    const making = new Making({ ...attempt, choice }, direction);
    try {
      yield making.value(places);
    } catch (error) {
      if (!(error instanceof NoValue)) throw error;
      isTooLarge ||= making.isTooLarge;
    }
  }
}

/** Makes values that fit, and remembers those that are the same each time: one may take a while. */
export class ValueMaker {
  readonly #direction: Direction;
  readonly #made = new Map<string, unknown>();

  constructor(direction: Direction) {
    this.#direction = direction;
  }

  /**
   * Makes a value that a check accepts; undefined if none was found.
   *
   * @param isDynamic whether it is another one each time.
   */
  make(place: Place, check: SchemaCheck, isDynamic = false): unknown {
    const known = this.#made.get(place.pointer);
    if (known !== undefined && !isDynamic) return known;
    const random = isDynamic ? Math.random : undefined;
    for (const value of madeValues([place], { direction: this.#direction, random })) {
      if (faultIn(check, value) !== undefined) continue;
      if (!isDynamic) this.#made.set(place.pointer, value);
      return value;
    }
    return undefined;
  }
}

/** The value that a schema names for itself. */
export function exampleIn({ example, examples, default: usual }: Json): unknown {
  return example ?? (Array.isArray(examples) ? examples[0] : undefined) ?? usual;
}

/** A schema of a value, and the keywords of its own. */
interface Part {
  readonly place: Place;
  readonly schema: Json;
}

class Making {
  isTooLarge = false;
  readonly #attempt: Attempt;
  readonly #direction: Direction;
  #parts = 0;

  constructor(attempt: Attempt, direction: Direction) {
    this.#attempt = attempt;
    this.#direction = direction;
  }

  /**
   * A value for schemas that all hold. Throws NoValue.
   *
   * @param enclosing the pointers of the schemas of the values that it is in.
   * @param choice which of several values that are as good.
   */
  value(
    places: readonly Place[],
    depth = 0,
    enclosing: ReadonlySet<string> = new Set(),
    choice = this.#attempt.choice,
  ): unknown {
    this.isTooLarge = ++this.#parts > partsMax;
    if (this.isTooLarge || depth > depthMax.small) throw new NoValue();
    const parts = new Map<string, Part>();
    for (const place of places) this.#gather(place, parts, { depth, enclosing, choice });
    const all = [...parts.values()];
    const schemas = all.map(({ schema }) => schema);
    const { examples } = this.#attempt;
    const taken = examples === "none" ? [] : schemas.map(exampleIn);
    const example = taken.find(
      (each) => each !== undefined && (examples === "all" || !(isObject(each) || Array.isArray(each))),
    );
    if (example !== undefined) return example;
    const values = valuesOf(schemas);
    if (values !== undefined) return chosen(values, choice);
    const inside = new Set([...enclosing, ...parts.keys()]);
    switch (typeOf(schemas, choice)) {
      case "object":
        return this.#object(all, depth, inside, choice);
      case "array":
        return this.#array(all, depth, inside, choice);
      case "integer":
        return found(sampleNumber(schemas, true, choice));
      case "number":
        return found(sampleNumber(schemas, false, choice));
      case "boolean":
        return choice % 2 === 0;
      case "null":
        return null;
      default:
        return found(sampleText(textLimits(schemas), choice));
    }
  }

  /** Collects a schema with the others of the same value, among which it chooses alternatives. */
  #gather(
    place: Place,
    parts: Map<string, Part>,
    within: { readonly depth: number; readonly enclosing: ReadonlySet<string>; readonly choice: number },
  ): void {
    const { value, pointer } = place;
    if (value === false) throw new NoValue();
    if (!isObject(value) || parts.has(pointer)) return;
    const isTarget = isReference(value);
    parts.set(pointer, { place, schema: isTarget && place.isVersion30 ? {} : fromVersion30(value) });
    const gather = (each: Place) => this.#gather(each, parts, within);
    if (isTarget) gather(referenced(place));
    if (isTarget && place.isVersion30) return;
    // Examples of a part written here go before those of a reference, such as the id of a NewPlant.
    const all = place.own("allOf").items;
    for (const each of all.filter((part) => !isReference(part.value))) gather(each);
    for (const each of all) gather(each);
    for (const keyword of within.choice % 2 === 0 ? ["if", "then"] : ["else"]) gather(place.own(keyword));
    const alternatives = ["oneOf", "anyOf"].flatMap((keyword) => {
      const all = place.own(keyword).items;
      const nulls = all.filter((each) => isObject(each.value) && each.value.type === "null");
      const others = all.filter((each) => !nulls.includes(each));
      const constants = others.flatMap((each) => (isObject(each.value) ? (each.value.const ?? []) : []));
      // Other schemas of the value may leave one of them.
      if (constants.length === all.length && all.length > 0)
        return [place.document.holding({ enum: constants })];
      const open = others.filter((each) => !within.enclosing.has(targetPointer(each)));
      // A value that may contain itself ends with null.
      const isEnd = open.length === 0 || (within.depth > 3 && !this.#attempt.isFull);
      const some = isEnd && nulls.length > 0 ? nulls : open.length > 0 ? open : others;
      return some.length === 0 ? [] : [chosen(some, within.choice)];
    });
    for (const each of alternatives) gather(each);
    this.#addDiscriminator(place, alternatives, parts, gather, within.choice);
  }

  /** Adds the name that a discriminator has for one of its schemas, and that schema. */
  #addDiscriminator(
    place: Place,
    alternatives: readonly Place[],
    parts: ReadonlyMap<string, Part>,
    gather: (place: Place) => void,
    choice: number,
  ): void {
    const property = place.own("discriminator", "propertyName").value;
    if (typeof property !== "string") return;
    const mapped = readable(() => mappedSchemas(place)) ?? new Map<string, Place>();
    const names = new Map([...mapped].map(([name, { pointer }]) => [pointer, name]));
    if (names.size === 0) return;
    const taken = [
      ...alternatives.map(targetPointer),
      ...[...parts.keys()].filter((each) => each !== place.pointer),
    ];
    const pointer = taken.find((each) => names.has(each)) ?? chosen([...names.keys()], choice);
    if (alternatives.length === 0) gather(place.document.own(...referencedMembers(`#${pointer}`)));
    const constant = { type: "object", properties: { [property]: { const: names.get(pointer) } } };
    gather(place.document.holding({ ...constant, required: [property] }));
  }

  #object(parts: readonly Part[], depth: number, inside: ReadonlySet<string>, choice: number): Json {
    const { isFull, examples } = this.#attempt;
    const schemas = parts.map(({ schema }) => schema);
    const places = new Map<string, Place[]>();
    for (const { place, schema } of parts)
      for (const name of Object.keys(propertiesOf(schema)))
        places.set(name, [...(places.get(name) ?? []), place.own("properties", name)]);
    const isShown = (name: string) =>
      !(places.get(name) ?? []).some((each) => isHidden(each, this.#direction));
    const isOpen = (name: string) =>
      (places.get(name) ?? []).every((each) => each.value !== false && !inside.has(targetPointer(each)));
    const required = schemas.flatMap(requiredOf).map(String).filter(isShown);
    const optional = [...places.keys()].filter(
      (name) => !required.includes(name) && isShown(name) && isOpen(name),
    );
    // An example is telling, and small.
    const hasExample = (name: string) =>
      examples !== "none" &&
      places.get(name)?.some(({ value }) => isObject(value) && exampleIn(value) !== undefined);
    const isWanted = (name: string) => (isFull && depth < depthMax.full) || hasExample(name);
    const names = new Set([...places.keys()].filter((name) => required.includes(name)).concat(required));
    const most = least(schemas, "maxProperties");
    const wanted = Math.min(greatest(schemas, "minProperties"), partsMax);
    for (const name of optional)
      if (names.size < wanted || (names.size < most && isWanted(name))) names.add(name);
    for (let at = 0; names.size < wanted && at < 2 * partsMax; at++) {
      const name = this.#newName(parts, depth, inside, at);
      if (!places.has(name)) names.add(name);
    }
    const members = [...names].map((name) => {
      const own = places.get(name) ?? this.#placesOfOthers(parts);
      return [name, this.value(own, depth + 1, inside, choice)] as const;
    });
    return Object.fromEntries(members);
  }

  /** A name for a member that no property describes. */
  #newName(parts: readonly Part[], depth: number, inside: ReadonlySet<string>, at: number): string {
    const pattern = parts.flatMap(({ schema }) => Object.keys(Object(schema.patternProperties)))[0];
    const names = parts
      .map(({ place }) => place.own("propertyNames"))
      .find(({ value }) => value !== undefined);
    if (names !== undefined) return String(this.value([names], depth + 1, inside, at));
    if (pattern === undefined) return `member${at + 1}`;
    return sampleText({ pattern, minLength: at % 2 === 0 ? 0 : at }, at) ?? "";
  }

  #placesOfOthers(parts: readonly Part[]): Place[] {
    const found = parts.flatMap(({ place }) => [
      ...place.own("patternProperties").members.map(([, each]) => each),
      place.own("additionalProperties"),
    ]);
    return found.filter(({ value }) => isObject(value)).slice(0, 1);
  }

  #array(parts: readonly Part[], depth: number, inside: ReadonlySet<string>, choice: number): unknown[] {
    const schemas = parts.map(({ schema }) => schema);
    const at = (...names: string[]) => parts.map(({ place }) => place.own(...names));
    const described = (places: readonly Place[]) => places.filter(({ value }) => value !== undefined);
    const [items, contained] = [described(at("items")), described(at("contains"))];
    const first = Math.max(
      0,
      ...schemas.map(({ prefixItems }) => (Array.isArray(prefixItems) ? prefixItems.length : 0)),
    );
    const containing = contained.length === 0 ? 0 : Math.max(1, greatest(schemas, "minContains"));
    const isEnd = depth >= depthMax.full || items.some((each) => inside.has(targetPointer(each)));
    const usual = this.#attempt.isFull && !isEnd ? Math.max(1, first) : 0;
    const most = least(schemas, "maxItems");
    const count = Math.min(Math.max(usual, containing, greatest(schemas, "minItems")), most);
    const isUnique = schemas.some(({ uniqueItems }) => uniqueItems === true);
    return Array.from({ length: Math.min(count, partsMax + 1) }, (_, index) => {
      const own = described(at("prefixItems", String(index)));
      const places = [...(own.length > 0 ? own : items), ...(index < containing ? contained : [])];
      return this.value(places, depth + 1, inside, isUnique ? choice + index : choice);
    });
  }
}

/** The pointer of the schema that a reference here names; that of this one if it is none. */
function targetPointer(place: Place): string {
  return isReference(place.value) ? referenced(place).pointer : place.pointer;
}

function referenced({ value, document }: Place): Place {
  return document.own(...referencedMembers((value as Reference).$ref));
}

function chosen<Item>(all: readonly Item[], choice: number): Item {
  return found(all[choice % all.length]);
}

function found<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new NoValue();
  return value;
}

/** The values of a keyword that counts. */
function counts(schemas: readonly Json[], keyword: string): number[] {
  return schemas.flatMap(({ [keyword]: value }) => (value === undefined ? [] : Number(numberText(value))));
}

function greatest(schemas: readonly Json[], keyword: string): number {
  return Math.max(0, ...counts(schemas, keyword));
}

function least(schemas: readonly Json[], keyword: string): number {
  return Math.min(Number.POSITIVE_INFINITY, ...counts(schemas, keyword));
}

/** The values that every list of values has; undefined without a list. Null comes last. */
function valuesOf(schemas: readonly Json[]): unknown[] | undefined {
  const lists = schemas.flatMap(({ enum: values, const: constant }) => [
    ...(Array.isArray(values) ? [values as unknown[]] : []),
    ...(constant === undefined ? [] : [[constant]]),
  ]);
  const texts = lists.map((list) => new Set(list.map((each) => toExactJson(each))));
  const common = lists[0]?.filter((each) => texts.every((list) => list.has(toExactJson(each))));
  const others = common?.filter((each) => each !== null);
  return others?.length === 0 ? common : others;
}

/** Keywords that say of which type a value is. */
const typesByKeyword: Readonly<Record<string, string>> = {
  ...{ properties: "object", required: "object", additionalProperties: "object", items: "array" },
  ...{ patternProperties: "object", minProperties: "object", prefixItems: "array", contains: "array" },
  ...{ minItems: "array", minimum: "number", maximum: "number", multipleOf: "number" },
  ...{ exclusiveMinimum: "number", exclusiveMaximum: "number" },
};

function typeOf(schemas: readonly Json[], choice: number): string {
  const lists = schemas.flatMap(({ type }) => (type === undefined ? [] : [[type].flat().map(String)]));
  const accepts = (list: readonly string[], type: string) =>
    list.includes(type) || (type === "integer" && list.includes("number"));
  const all = lists.flat().filter((type) => lists.every((list) => accepts(list, type)));
  const others = all.filter((type) => type !== "null");
  const implied = Object.keys(typesByKeyword).find((keyword) =>
    schemas.some((schema) => schema[keyword] !== undefined),
  );
  const isInteger = schemas.some(({ format }) => numberFormat(format)?.isInteger === true);
  const type =
    lists.length === 0
      ? ((implied && typesByKeyword[implied]) ?? "string")
      : chosen(others.length > 0 ? others : all, choice);
  return type === "number" && isInteger ? "integer" : type;
}

/** The limits of texts that several schemas have. */
function textLimits(schemas: readonly Json[]): Json {
  const first = (keyword: string) => schemas.map((each) => each[keyword]).find((each) => each !== undefined);
  return {
    pattern: first("pattern"),
    format: first("format"),
    minLength: greatest(schemas, "minLength"),
    maxLength: least(schemas, "maxLength"),
  };
}
