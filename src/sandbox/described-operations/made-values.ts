// Makes values from schemas, where a description has no example that fits. json-schema-faker makes
// them; the validator of the contract decides whether one fits.

import { generateSync } from "json-schema-faker";
import { faultIn, type SchemaCheck } from "../../contract/schema-check.ts";
import { referencedMembers } from "../../json/json-pointer.ts";
import { isObject, type Json, numberText } from "../../json/json-values.ts";
import { mappedSchemas } from "../../openapi/document/discriminator.ts";
import { isReference, Place } from "../../openapi/document/place.ts";
import { numberFormat, textFormat, textFormatNames } from "../../openapi/schema/formats.ts";
import { fromVersion30, isAnnotation, mapSubschemas, requiredOf } from "../../openapi/schema/restrictions.ts";
import { sampleText } from "../../openapi/schema/sample-texts.ts";

/** Which values of a description an attempt takes over: all, those that are no objects, or none. */
type Examples = "all" | "scalars" | "none";

interface Attempt {
  readonly examples: Examples;
  /** Whether optional members are made, too. */
  readonly isFull: boolean;
  /** Whether texts with a format are the examples of the validator. */
  readonly hasOurFormats: boolean;
  /** Which of several alternatives is made. */
  readonly choice: number;
}

/** The most telling value comes first; a smaller one fits more often. */
const attempts: readonly Attempt[] = [
  { examples: "all", isFull: true, hasOurFormats: true, choice: 0 },
  ...[0, 1, 2].map((choice) => ({ examples: "scalars", isFull: true, hasOurFormats: true, choice }) as const),
  { examples: "none", isFull: true, hasOurFormats: true, choice: 0 },
  { examples: "scalars", isFull: false, hasOurFormats: true, choice: 0 },
  ...Array.from({ length: 6 }, (_, choice) => {
    return { examples: "none", isFull: false, hasOurFormats: choice % 2 === 0, choice } as const;
  }),
];

/** Parts of one value: recursive schemas with many optional members would have no end. */
const partsMax = 500;

/** Stands for a value with more of them. */
const tooLarge = Symbol("too large");

/** Objects and arrays within each other: a full value is cut off, and a small one ends by itself. */
const depthMax = { full: 8, small: 24 };

/** The longest text that is made. */
const charactersMax = 100_000;

/** Makes values for the schemas of one description. */
export class ValueMaker {
  /** Values with a seed, by the pointers of their schemas: one may take 0.3 seconds. */
  readonly #made = new Map<string, unknown>();

  /**
   * Makes a value that fits a schema; undefined if none was found.
   *
   * @param seed the same one gives the same value, with the examples of the description; undefined for
   *   another one each time, without them.
   */
  make(place: Place, check: SchemaCheck, seed: number | undefined): unknown {
    if (seed === undefined) return this.#make(place, check, seed);
    const isBare = isReference(place.value) && Object.keys(place.value).length === 1;
    const key = `${seed} ${isBare ? place.target.pointer : place.pointer}`;
    if (!this.#made.has(key)) this.#made.set(key, this.#make(place, check, seed));
    return this.#made.get(key);
  }

  #make(place: Place, check: SchemaCheck, seed: number | undefined): unknown {
    const start = seed ?? crypto.getRandomValues(new Uint32Array(1))[0] ?? 0;
    let isTooLarge = false;
    for (const [index, attempt] of attempts.entries()) {
      if ((seed === undefined && attempt.examples !== "none") || (isTooLarge && attempt.isFull)) continue;
      const choice = attempt.choice + (seed === undefined ? start : 0);
      const value = this.#attempt(place, { ...attempt, choice }, start + index);
      isTooLarge ||= value === tooLarge;
      if (value !== undefined && value !== tooLarge && fits(check, value)) return value;
    }
    return undefined;
  }

  #attempt(place: Place, attempt: Attempt, seed: number): unknown {
    let parts = 0;
    try {
      return generateSync(this.#prepared(place, attempt) as Json, {
        seed,
        alwaysFakeOptionals: attempt.isFull,
        optionalsProbability: 0,
        maxDepth: attempt.isFull ? depthMax.full : depthMax.small,
        maxDefaultItems: 1,
        formats: attempt.hasOurFormats ? ourFormats : {},
        refResolver: (reference) =>
          this.#prepared(place.document.own(...referencedMembers(reference)), attempt) as Json,
        outputTransform(value) {
          if (++parts > partsMax) throw new Error("The value has too many parts");
          return value;
        },
      });
    } catch {
      // json-schema-faker throws an Error where it finds no value; another attempt may.
      return parts > partsMax ? tooLarge : undefined;
    }
  }

  /**
   * A schema as json-schema-faker reads it: JSON Schema 2020-12, in which an example is the only value.
   * It has one of several alternatives, and prefers values to null.
   *
   * @param enclosing the pointers of the schemas for the same value that lead here.
   */
  #prepared(place: Place, attempt: Attempt, enclosing: readonly string[] = []): unknown {
    const { value } = place;
    if (Array.isArray(value)) return place.items.map((each) => this.#prepared(each, attempt));
    if (!isObject(value)) return typeof value === "bigint" ? Number(value) : value;
    const { examples } = attempt;
    const example = exampleIn(value);
    if (example !== undefined && (examples === "all" || (examples === "scalars" && !hasParts(example))))
      return { const: example };
    const known = Object.entries(value).filter(([name]) => !isAnnotation(name) && !dropped.includes(name));
    const own = mapSubschemas(Object.fromEntries(known), (_, ...names) =>
      this.#prepared(place.own(...names), attempt),
    );
    const schema = withLimits(own, attempt);
    this.#addPatternMembers(place, schema, attempt);
    if (
      isReference(value) &&
      enclosing.length === 0 &&
      (place.isVersion30 || Object.keys(schema).length === 0)
    )
      return { $ref: value.$ref };
    const within = [...enclosing, place.pointer];
    const parts = this.#partsOf(place, attempt, within).map((part) => {
      if (!(part instanceof Place)) return part;
      return within.includes(part.pointer) ? {} : this.#prepared(part, attempt, within);
    });
    return parts.length === 0 ? schema : { allOf: [schema, ...parts] };
  }

  /** Adds as many members as an object needs whose names match a pattern. */
  #addPatternMembers(place: Place, schema: Record<string, unknown>, attempt: Attempt): void {
    const properties: Record<string, unknown> = isObject(schema.properties) ? { ...schema.properties } : {};
    const missing = Math.min(Number(schema.minProperties ?? 0), partsMax) - Object.keys(properties).length;
    const [pattern] = place.own("patternProperties").members;
    if (pattern === undefined || !(missing > 0)) return;
    const [name, member] = pattern;
    const names = new Set<string>();
    for (let choice = 0; names.size < missing && choice < 2 * missing + 10; choice++) {
      const sample = sampleText({ pattern: name, minLength: choice % 2 === 0 ? 0 : choice }, choice);
      if (sample !== undefined) names.add(sample);
    }
    for (const each of names) properties[each] = this.#prepared(member, attempt);
    schema.properties = properties;
    schema.required = [...requiredOf(schema), ...names];
  }

  /** The other schemas for the same value: places, and the names that discriminators have for them. */
  #partsOf(place: Place, { choice, isFull }: Attempt, within: readonly string[]): (Place | Json)[] {
    const parts: (Place | Json)[] = place.own("allOf").items;
    if (isReference(place.value)) parts.push(place.document.own(...referencedMembers(place.value.$ref)));
    const choose = <Item>(all: readonly Item[]) => all[choice % all.length];
    const alternatives = ["oneOf", "anyOf"].map((keyword) => {
      const all = place.own(keyword).items;
      const nulls = all.filter(({ value }) => isObject(value) && value.type === "null");
      // A small value ends with null, where it may contain itself.
      return isFull || nulls.length === 0 ? all.filter((each) => !nulls.includes(each)) : nulls;
    });
    const chosen = alternatives.flatMap((each) => choose(each) ?? []);
    parts.push(...chosen);
    const property = place.own("discriminator", "propertyName").value;
    if (typeof property !== "string") return parts;
    const names = new Map([...mappedSchemas(place)].map(([name, { pointer }]) => [pointer, name] as const));
    const isNamed = (pointer: string) => names.has(pointer);
    const pointer =
      chosen.map((each) => (isReference(each.value) ? each.target.pointer : "")).find(isNamed) ??
      (within.find((each) => isNamed(each) && each !== place.pointer) || choose([...names.keys()]));
    const name = names.get(pointer ?? "");
    if (pointer === undefined || name === undefined) return parts;
    if (chosen.length === 0) parts.push(place.document.own(...referencedMembers(`#${pointer}`)));
    parts.push({ type: "object", properties: { [property]: { const: name } }, required: [property] });
    return parts;
  }
}

export function fits(check: SchemaCheck, value: unknown): boolean {
  return faultIn(check, value) === undefined;
}

const ourFormats = Object.fromEntries(
  textFormatNames.map((name) => [name, () => textFormat(name)?.example ?? ""]),
);

/** Keywords that are read elsewhere, and that json-schema-faker matches without a time limit. */
const dropped = ["nullable", "discriminator", "patternProperties", "$ref", "allOf", "anyOf", "oneOf"];

/** The value that a schema names for itself. */
export function exampleIn({ example, examples, default: usual }: Json): unknown {
  return example ?? (Array.isArray(examples) ? examples[0] : undefined) ?? usual;
}

function hasParts(value: unknown): boolean {
  return Array.isArray(value) || isObject(value);
}

/** Limits as numbers in the dialect of OpenAPI 3.1, and types without null, where there are others. */
function withLimits(schema: Json, { hasOurFormats, choice }: Attempt): Record<string, unknown> {
  const changed: Record<string, unknown> = { ...fromVersion30(schema) };
  for (const [name, value] of Object.entries(changed)) {
    if (typeof value === "object" && numberText(value) !== undefined)
      changed[name] = Number(numberText(value));
    if (name === "minLength") changed[name] = Math.min(Number(value), charactersMax);
  }
  // A full array has as many items as it may have.
  const most = Math.max(Number(changed.minItems ?? 0), 1);
  if (Number(changed.maxItems ?? 0) > most) changed.maxItems = most;
  const format = numberFormat(schema.format);
  if (format?.isInteger && schema.type !== "string") {
    changed.type = "integer";
    if (format.minimum === 0) changed.minimum ??= 0;
    if (Number.isSafeInteger(Number(format.maximum))) changed.maximum ??= Number(format.maximum);
  }
  const { type } = schema;
  const types = Array.isArray(type) ? type.filter((each) => each !== "null") : [];
  if (types.length > 0) changed.type = types.length === 1 ? types[0] : types;
  if (type === undefined && requiredOf(schema).length > 0) changed.type = "object";
  const hasLength = schema.minLength !== undefined || schema.maxLength !== undefined;
  const sample = hasLength && hasOurFormats ? sampleText(schema, choice) : undefined;
  if (sample !== undefined && schema.enum === undefined && schema.const === undefined)
    return { const: sample };
  // json-schema-faker adds to a double, which is the same number there.
  const least = numberText(schema.minimum);
  if (least !== undefined && changed.type === "integer" && !Number.isSafeInteger(Number(least)))
    return { const: BigInt(least) };
  return changed;
}
