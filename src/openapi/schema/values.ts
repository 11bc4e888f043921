// Compares values of parseExactJson, and tells their kinds. A number is a number whose decimal text
// is exact, a bigint, or an ExactNumber, and a SentNumber stands for one of these.

import type { Work } from "../../contract/schema-check.ts";
import { type JsonNumber, parseJsonNumber } from "../../json/exact-json.ts";
import { isObject, numberText, SentNumber } from "../../json/json-values.ts";

export const kinds = ["null", "boolean", "string", "number", "array", "object"] as const;
export type Kind = (typeof kinds)[number];

export function kindOf(value: unknown): Kind {
  if (typeof value === "string" || typeof value === "boolean") return typeof value as Kind;
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return isObject(value) ? "object" : "number";
}

/** A scalar as JSON. */
export function scalarText(value: unknown): string {
  return numberText(value) ?? JSON.stringify(value);
}

/** Whether a number is an integer, such as 1.0 and 1e3. */
export function isIntegral(value: unknown): boolean {
  if (typeof value === "object") return parsed(value).exponent >= 0;
  return typeof value === "bigint" || Number.isInteger(value);
}

/** Compares numbers: negative if one is less than the other, 0 if they are equal. */
export function compareNumbers(one: unknown, other: unknown): number {
  if (typeof one !== "object" && typeof other !== "object")
    return (one as number) < (other as number) ? -1 : Number((one as number) > (other as number));
  const [a, b] = [parsed(one), parsed(other)];
  const [signA, signB] = [signOf(a), signOf(b)];
  if (signA !== signB || signA === 0) return signA - signB;
  const [sizeA, sizeB] = [a.digits.length + a.exponent, b.digits.length + b.exponent];
  if (sizeA !== sizeB) return sizeA < sizeB ? -signA : signA;
  if (a.digits === b.digits) return 0;
  return a.digits < b.digits ? -signA : signA;
}

function signOf({ sign, digits }: JsonNumber): number {
  if (digits === "0") return 0;
  return sign === "-" ? -1 : 1;
}

/** Whether a number is a multiple of another, in time that is linear in their digits. */
export function isMultiple(value: unknown, divisor: unknown): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(divisor))
    return (value as number) % (divisor as number) === 0;
  const [dividend, by] = [parsed(value), parsed(divisor)];
  const exponent = dividend.exponent - by.exponent;
  // Its digits do not end with 0, so that it is no multiple of 10.
  if (dividend.digits === "0" || exponent < 0) return dividend.digits === "0";
  const modulus = BigInt(by.digits);
  // More powers of ten than the divisor has bits make no difference.
  // The difference of two exponents that are out of all bounds is not known.
  const powers = Number.isNaN(exponent) ? 0 : Math.min(exponent, 4 * by.digits.length);
  let rest = 0n;
  for (let at = 0; at < dividend.digits.length; at += 15) {
    const digits = dividend.digits.slice(at, at + 15);
    rest = (rest * 10n ** BigInt(digits.length) + BigInt(digits)) % modulus;
  }
  return (rest * 10n ** BigInt(powers)) % modulus === 0n;
}

function parsed(value: unknown): JsonNumber {
  return parseJsonNumber(scalarText(value)) as JsonNumber;
}

/** Arrays and objects within each other. */
export const nestingMax = 500;

/** Thrown for a value that is nested too deeply. */
export class TooDeep extends Error {}

/** Whether a text has so many code points, which are counted only where the length decides. */
export function hasLength(value: string, least: number, most: number): boolean {
  if (value.length < least || value.length > 2 * most) return false;
  if (value.length <= most && value.length >= 2 * least) return true;
  let length = 0;
  for (const _ of value) length++;
  return length >= least && length <= most;
}

/** A set of values, of which no two are equal. */
export class ValueSet {
  readonly #scalars = new Map<unknown, number>();
  readonly #texts = new Map<string, number>();
  #longest = 0;

  /** Adds a value, and returns the index of an equal one that was added before. */
  add(sent: unknown, index: number, work: Work): number | undefined {
    const value = plainValue(sent);
    const text = canonicalText(value, Number.POSITIVE_INFINITY, work);
    this.#longest = Math.max(this.#longest, text?.length ?? 0);
    const before = text === undefined ? this.#scalars.get(value) : this.#texts.get(text);
    if (before === undefined && text === undefined) this.#scalars.set(value, index);
    else if (before === undefined) this.#texts.set(text as string, index);
    return before;
  }

  has(value: unknown, work: Work): boolean {
    const text = canonicalText(value, this.#longest, work);
    return text === undefined ? this.#scalars.has(value) : this.#texts.has(text);
  }
}

/** A value without the form in which a number was sent. */
export function plainValue(value: unknown): unknown {
  return value instanceof SentNumber ? value.value : value;
}

/**
 * A text that equal arrays, objects and numbers of many digits have in common; undefined for another
 * scalar, which is equal to itself only. It is cut off where it is longer than `lengthMax`.
 */
function canonicalText(value: unknown, lengthMax: number, work: Work): string | undefined {
  // A hash takes time for each character.
  if (typeof value === "string") work.spend(value.length >> 4);
  if (value === null || typeof value !== "object") return undefined;
  let left = lengthMax;
  const write = (sent: unknown, depth: number): string => {
    if (depth > nestingMax) throw new TooDeep();
    const part = plainValue(sent);
    const kind = kindOf(part);
    if (kind !== "array" && kind !== "object") {
      const text = typeof part === "string" && part.length > left ? part : scalarText(part);
      work.spend(2 + (text.length >> 3));
      left -= text.length;
      return text;
    }
    const names = kind === "object" ? Object.keys(part as object) : undefined;
    const count = names?.length ?? (part as unknown[]).length;
    work.spend(2 + count);
    left -= count + 2;
    if (left < 0) return "…";
    // To sort takes count × log(count).
    if (names !== undefined) work.spend(count * (32 - Math.clz32(count)));
    names?.sort();
    let text = "";
    for (let index = 0; index < count && left >= 0; index++) {
      const name = names?.[index];
      if (name !== undefined) text += `${write(name, depth)}:`;
      text += `${write((part as Record<string | number, unknown>)[name ?? index], depth + 1)},`;
    }
    return kind === "array" ? `[${text}]` : `{${text}}`;
  };
  return write(value, 0);
}
