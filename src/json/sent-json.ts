// Parses the JSON that clients send, once: its values, in which numbers keep all digits and their form,
// and the texts of members where somebody asks for them.

import { mayRewrite, parseSentJson, sentNumber } from "./exact-json.ts";
import { type JsonScan, scanJson } from "./json-scanner.ts";
import type { Json } from "./json-values.ts";

/** A value as it was sent. */
export interface SentValue {
  /** The value of JSON.parse: numbers may have lost digits, and an array or object its content. */
  readonly value: unknown;
  /** The whole value, whose numbers are exact. Throws a RangeError for one that is nested too deeply. */
  exact(): unknown;
  /** Its JSON. */
  text(): string;
}

/** A value with a text of its own. */
export function sentText(text: string): SentValue {
  return { value: parseShallow(text), exact: () => exactValue(text), text: () => text };
}

/**
 * Longer texts are scanned, and only the wanted members are parsed: JSON.parse would create an object
 * for each of a million brackets.
 */
const parsedCodeUnitsMax = 4_096;

/** The integers of a text without these have a point or an exponent nowhere. */
const pointOrExponent = /(?<=[0-9])[.eE]/;

/** A text of JSON. */
export class SentJson {
  readonly value: unknown;
  readonly #text: string;
  readonly #wanted: () => readonly string[];
  readonly #isShallow: boolean;
  #scan: JsonScan | undefined;
  #hasOnlyIntegers: boolean | undefined;
  #mayRewrite: boolean | undefined;
  #exact: unknown;

  /**
   * Parses a text, or returns its first syntax error.
   *
   * @param wanted the members of an object that may be asked for.
   */
  static parse(text: string, wanted: () => readonly string[]): SentJson | { readonly error: string } {
    if (text.length <= parsedCodeUnitsMax)
      try {
        return new SentJson(text, wanted, JSON.parse(text));
      } catch {
        // The scanner says where the error is.
      }
    const scan = scanJson(text, wanted());
    return "error" in scan ? scan : new SentJson(text, wanted, shallowValue(text, scan), scan);
  }

  private constructor(text: string, wanted: () => readonly string[], value: unknown, scan?: JsonScan) {
    this.#text = text;
    this.#wanted = wanted;
    this.value = value;
    this.#isShallow = scan !== undefined;
    this.#scan = scan;
  }

  /** The text, without white space around it. */
  text(): string {
    return this.#text.trim();
  }

  /** A member of the object; undefined if it has none of that name. */
  member(name: string): SentValue | undefined {
    // Every object inherits members such as "constructor".
    if (!Object.hasOwn(this.value as Json, name)) return undefined;
    return new SentMember(this, name, (this.value as Json)[name]);
  }

  /** The whole value, whose numbers are exact. Throws a RangeError for one that is nested too deeply. */
  exact(): unknown {
    this.#exact ??= this.#keepsNumbers()
      ? this.value
      : parseSentJson(this.#text, this.#isShallow ? undefined : this.value);
    return this.#exact;
  }

  /** Whether `value` has all numbers as they were sent. */
  #keepsNumbers(): boolean {
    this.#mayRewrite ??= this.#isShallow || mayRewrite(this.#text);
    return !this.#mayRewrite;
  }

  /** @param value of JSON.parse. */
  exactMember(name: string, value: unknown): unknown {
    if (typeof value === "number") {
      const isSafe = Number.isSafeInteger(value);
      this.#hasOnlyIntegers ??= !pointOrExponent.test(this.#text);
      // The digits of a member are found in a microsecond.
      if (isSafe && this.#hasOnlyIntegers) return value;
      if ((isSafe || !Number.isInteger(value)) && this.#keepsNumbers()) return value;
    } else if (typeof value !== "object" || value === null) return value;
    if (this.#exact !== undefined) return (this.#exact as Json)[name];
    return exactValue(this.textOf(name), this.#isShallow ? undefined : value);
  }

  /** The JSON of a member. */
  textOf(name: string): string {
    this.#scan ??= scanJson(this.#text, this.#wanted());
    return ("members" in this.#scan && this.#scan.members.get(name)) || "";
  }
}

class SentMember implements SentValue {
  readonly value: unknown;
  readonly #json: SentJson;
  readonly #name: string;

  constructor(json: SentJson, name: string, value: unknown) {
    this.#json = json;
    this.#name = name;
    this.value = value;
  }

  exact(): unknown {
    return this.#json.exactMember(this.#name, this.value);
  }

  text(): string {
    return this.#json.textOf(this.#name);
  }
}

/** The members that were wanted, and one of the others, without the content of arrays and objects. */
function shallowValue(text: string, scan: JsonScan): unknown {
  const outermost = text.trimStart();
  if ("error" in scan || !outermost.startsWith("{")) return parseShallow(outermost);
  const members = [...scan.members].map(([name, value]) => [name, parseShallow(value)] as const);
  const others = scan.other === undefined ? [] : [[scan.other, undefined] as const];
  return Object.fromEntries([...members, ...others]);
}

/** Like JSON.parse, but arrays and objects are empty. */
function parseShallow(text: string): unknown {
  if (text.startsWith("{")) return {};
  return text.startsWith("[") ? [] : JSON.parse(text);
}

/** @param parsed its value of JSON.parse, if that is known. */
function exactValue(text: string, parsed?: unknown): unknown {
  return /^[-\d]/.test(text) ? sentNumber(text) : parseSentJson(text, parsed);
}
