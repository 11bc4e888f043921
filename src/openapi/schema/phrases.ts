// Phrases what a schema accepts, such as "a string of 1 to 5 characters".

import { fractionDigits } from "../../json/decimal.ts";
import { toExactJson } from "../../json/exact-json.ts";
import type { Json } from "../../json/json-values.ts";
import { numberFormat, textFormat } from "./formats.ts";
import { isStorablePattern } from "./patterns.ts";
import { compareNumbers, kindOf, scalarText } from "./values.ts";

/** A schema in the dialect of 3.1, with the schemas that a value must fit as well. */
export interface PhrasedSchema {
  /** Whether it accepts null whatever its keywords say. */
  readonly isNullable: boolean;
  readonly keywords: Json;
  readonly parts: readonly PhrasedSchema[];
  readonly alternatives: readonly PhrasedSchema[];
}

/**
 * Whether the phrase is that of a field, which is stored: its integers have 64 bits, and its arrays
 * and objects are named as such; or that of a value in one.
 */
export type Style = "field" | "value";

const anything = "a value that the contract's schema accepts";

/** The code units that the phrases of alternatives of a schema may have in all. */
const codeUnitsMax = 300;

/** @param kind the type that a schema without a type is described for. */
export function phraseFor(schema: PhrasedSchema, style: Style, kind?: string): string {
  const phrase = ownPhrase(schema, style, kind);
  return schema.isNullable && phrase !== anything && !phrase.endsWith("null") ? `${phrase} or null` : phrase;
}

function ownPhrase(schema: PhrasedSchema, style: Style, kind: string | undefined): string {
  const keywords = merged(schema);
  if (keywords === undefined) return anything;
  const { const: constant, enum: listed } = keywords;
  const values = constant === undefined ? (listed as readonly unknown[] | undefined) : [constant];
  const types = [
    keywords.type ?? impliedType(values) ?? (values === undefined ? kind : undefined) ?? [],
  ].flat() as string[];
  const acceptsNull = types.includes("null") && (values === undefined || values.includes(null));
  const others = types.filter((type) => type !== "null");
  const phrases = others.map((type) => typePhrase(type, keywords, values, style));
  if (types.length === 0) {
    if (values !== undefined) return values.every(isScalar) ? listPhrase(values) : anything;
    if (schema.alternatives.length > 0) return alternativesPhrase(schema.alternatives, style);
    return anything;
  }
  return [...phrases, ...(acceptsNull || others.length === 0 ? ["null"] : [])].join(" or ");
}

export function alternativesPhrase(alternatives: readonly PhrasedSchema[], style: Style): string {
  const phrases = new Set<string>();
  for (const alternative of alternatives.slice(0, 10)) phrases.add(phraseFor(alternative, style));
  // "null" comes last.
  const sorted = [...phrases].sort((one, other) => Number(one === "null") - Number(other === "null"));
  const joined = sorted.join(" or ");
  return alternatives.length > 10 || phrases.has(anything) || joined.length > codeUnitsMax
    ? anything
    : joined;
}

/** The keywords of a schema and its parts; undefined if two of them differ. */
function merged(schema: PhrasedSchema): Json | undefined {
  const found: Record<string, unknown> = {};
  for (const part of [...schema.parts.map(merged), schema.keywords]) {
    if (part === undefined) return undefined;
    for (const name of scalarKeywords) {
      const value = Object.hasOwn(part, name) ? part[name] : undefined;
      if (value === undefined) continue;
      const before = found[name];
      const [least, most] = [/^(?:exclusiveM|m)in/, /^(?:exclusiveM|m)ax/].map((limit) => limit.test(name));
      if (before === undefined || toExactJson(before) === toExactJson(value)) found[name] = value;
      // The stricter one of two limits counts.
      else if (least || most) found[name] = compareNumbers(before, value) < 0 === least ? value : before;
      else return undefined;
    }
  }
  return found;
}

const scalarKeywords = [
  ...["type", "enum", "const", "format", "pattern", "minLength", "maxLength"],
  ...["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf"],
];

function impliedType(values: readonly unknown[] | undefined): string | undefined {
  return values !== undefined && values.length > 0 && values.every((value) => typeof value === "string")
    ? "string"
    : undefined;
}

function typePhrase(type: string, keywords: Json, all: readonly unknown[] | undefined, style: Style): string {
  const isNumber = type === "integer" || type === "number";
  const values = all?.filter((value) => kindOf(value) === (isNumber ? "number" : type));
  if (isNumber) return numberWords(type, keywords, values, style);
  if (type === "string") return values === undefined ? textPhrase(keywords, style) : listPhrase(values);
  if (type === "boolean") return values?.length === 1 ? String(values[0]) : "a boolean";
  const phrase = type === "array" ? "an array" : "an object";
  return style === "field" ? `${phrase} that the contract's schema accepts` : phrase;
}

function isScalar(value: unknown): boolean {
  return !["array", "object"].includes(kindOf(value));
}

function listPhrase(values: readonly unknown[]): string {
  return `one of ${shortened(values)}`;
}

/** Values that are listed; 3000 of them would be the larger part of a response. */
const listedMax = 10;

export function shortened(values: readonly unknown[]): string {
  const listed = values.slice(0, listedMax).map(scalarText).join(", ");
  return values.length > listedMax ? `${listed}, … (${values.length} values)` : listed;
}

function textPhrase({ format, minLength, maxLength, pattern }: Json, style: Style): string {
  const phrases = [textFormat(format)?.expected ?? "a string"];
  const length = countPhrase(minLength, maxLength, "character");
  if (length !== "") phrases.push(length);
  // Texts that do not match it cannot be stored anyway.
  const isSaid = style === "value" || !isStorablePattern(pattern);
  if (pattern !== undefined && isSaid) phrases.push(`that matches ${pattern}`);
  return phrases.join(" ");
}

/** Phrases the limits of a count, such as "of 2 to 3 items"; "" without a limit. */
export function countPhrase(least: unknown, most: unknown, unit: string): string {
  const count = (number: unknown) => `${number} ${unit}${Number(number) === 1 ? "" : "s"}`;
  const hasLeast = least !== undefined && Number(least) > 0;
  if (most === undefined) return hasLeast ? `of at least ${count(least)}` : "";
  if (!hasLeast) return `of at most ${count(most)}`;
  return Number(least) === Number(most) ? `of ${count(most)}` : `of ${least} to ${count(most)}`;
}

const relations = [
  ["minimum", "at least"],
  ["exclusiveMinimum", "above"],
  ["maximum", "at most"],
  ["exclusiveMaximum", "below"],
  ["multipleOf", "a multiple of"],
] as const;

function numberWords(
  type: string,
  keywords: Json,
  values: readonly unknown[] | undefined,
  style: Style,
): string {
  const phrases: string[] = [];
  for (const [keyword, relation] of relations) {
    const limit = keywords[keyword];
    // Digits after the point are said in other words.
    if (limit !== undefined && (keyword !== "multipleOf" || fractionDigits(limit) === undefined))
      phrases.push(`${relation} ${scalarText(limit)}`);
  }
  if (values !== undefined) phrases.push(`one of ${shortened(values)}`);
  return [rangePhrase(type, keywords, style), phrases.join(" and ")].filter((part) => part !== "").join(", ");
}

function rangePhrase(type: string, { format, multipleOf }: Json, style: Style): string {
  const isInteger = numberFormat(format)?.isInteger;
  if (isInteger === true) return `an integer (${format})`;
  if (type === "integer") return style === "field" ? "an integer (int64)" : "an integer";
  const digits = fractionDigits(multipleOf);
  if (digits !== undefined) return `a number with at most ${digits} digits after the point`;
  if (style === "field") return "a number of at most 38 digits";
  return isInteger === false ? `a number (${format})` : "a number";
}
