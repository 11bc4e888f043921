// Makes texts that fit a pattern or a format and a length, for examples. A text need not fit: whoever
// asks for one checks it, by the schema that it is for.

import type { Json } from "../../json/json-values.ts";
import { textFormat } from "./formats.ts";

/** The longest text that is made. */
const charactersMax = 10_000;

/**
 * A text for a schema with a pattern, or with a format and a length; undefined if there is none.
 *
 * @param choice another one gives other characters.
 */
export function sampleText(schema: Json, choice = 0): string | undefined {
  const { pattern, format, minLength, maxLength } = schema;
  const least = Math.min(Number(minLength ?? 0), charactersMax);
  const most = Number(maxLength ?? charactersMax);
  if (typeof pattern === "string") return new PatternText(pattern, choice).within(least, most);
  const example = textFormat(format)?.example;
  if (example === undefined || (example.length >= least && example.length <= most)) return example;
  if (format !== "byte") return paddedExamples[String(format)]?.(least);
  return "cGxh".repeat(Math.max(Math.ceil(least / 4), most < 4 ? 0 : 1));
}

/** Longer texts of formats that have no end of their own. */
const paddedExamples: Readonly<Record<string, (length: number) => string>> = {
  uri: (length) => "https://example.com/".padEnd(length, "a"),
  "uri-reference": (length) => "/plants".padEnd(length, "a"),
  "json-pointer": (length) => "/a".padEnd(length, "a"),
};

/** Reads a pattern and writes a text for it: as few repeats as it may have, and more where it is short. */
class PatternText {
  readonly #pattern: string;
  readonly #choice: number;
  #at = 0;
  /** Characters that repeats may still add. */
  #room = 0;

  constructor(pattern: string, choice: number) {
    this.#pattern = pattern;
    this.#choice = choice;
  }

  within(least: number, most: number): string | undefined {
    for (let room = 0; room <= least; room++) {
      this.#at = 0;
      this.#room = room;
      const text = this.#alternatives();
      if (text === undefined || this.#at < this.#pattern.length || text.length > most) return undefined;
      // A pattern without an end takes any text after it.
      if (!this.#pattern.endsWith("$") && text.length < least) return text.padEnd(least, "a");
      if (text.length >= least) return text;
      // Repeats of single characters fill what is missing at the second attempt.
      if (room === 0) room = least - text.length - 1;
    }
    return undefined;
  }

  /** The first of the alternatives; undefined for what is not read, such as a look-ahead. */
  #alternatives(): string | undefined {
    const all = [""];
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ")") {
      if (this.#pattern[this.#at] === "|") {
        this.#at++;
        all.push("");
        continue;
      }
      const start = this.#at;
      let part = this.#atom();
      if (part === undefined) return undefined;
      const [least, most] = this.#quantifier();
      const end = this.#at;
      let text = "";
      for (let count = 0; count < most && text.length < charactersMax; count++) {
        const isExtra = count >= least;
        if (isExtra && (this.#room <= 0 || all.length > 1)) break;
        if (count > 0) {
          this.#at = start;
          part = this.#atom() ?? "";
        }
        if (isExtra) this.#room -= Math.max(part.length, 1);
        text += part;
      }
      this.#at = end;
      all[all.length - 1] += text;
    }
    return all[0];
  }

  #atom(): string | undefined {
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at) as number);
    this.#at += character.length;
    if (character === "^" || character === "$") return "";
    if (character === ".") return this.#chosen("a-z");
    if (character === "(") return this.#group();
    if (character === "[") return this.#class();
    return character === "\\" ? this.#escape() : character;
  }

  #group(): string | undefined {
    const [name] = /^\?(?:[=!]|<[=!]|:|<[^>]*>)/.exec(this.#pattern.slice(this.#at)) ?? [""];
    if (/[=!]$/.test(name)) return undefined;
    this.#at += name.length;
    const text = this.#alternatives();
    this.#at++;
    return text;
  }

  #class(): string | undefined {
    const [all = "", not, members = ""] =
      /^(\^?)((?:\\.|[^\\\]])*)\]/su.exec(this.#pattern.slice(this.#at)) ?? [];
    this.#at += all.length;
    return all === "" ? undefined : this.#chosen(members, not === "^");
  }

  #escape(): string | undefined {
    const [all = ""] =
      /^(?:[pP]\{[^}]*\}|u\{[^}]*\}|u[\da-fA-F]{4}|x[\da-fA-F]{2}|.)/su.exec(this.#pattern.slice(this.#at)) ??
      [];
    this.#at += all.length;
    if (all === "b" || all === "B") return "";
    return this.#chosen(`\\${all}`);
  }

  /** A character that the members of a class match, or do not match. */
  #chosen(members: string, isNot = false): string | undefined {
    let expression: RegExp;
    try {
      // A class alone takes constant time.
      expression = new RegExp(`[${isNot ? "^" : ""}${members}]`, "u");
    } catch {
      // The pattern is invalid, as the reader of the schema says.
      return undefined;
    }
    const first = members.codePointAt(0) ?? 97;
    const fitting = [...usualCharacters, String.fromCodePoint(first)].filter((each) => expression.test(each));
    return fitting[this.#choice % fitting.length];
  }

  /** How often the part before is repeated. */
  #quantifier(): [least: number, most: number] {
    const [all, sign, least, comma, most] =
      /^(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/.exec(this.#pattern.slice(this.#at)) ?? [];
    if (all === undefined) return [1, 1];
    this.#at += all.length;
    if (sign !== undefined) return [sign === "+" ? 1 : 0, sign === "?" ? 1 : charactersMax];
    return [Number(least), most !== "" ? Number(most) : comma === "" ? Number(least) : charactersMax];
  }
}

/** Characters that a text may have, the likeliest first. */
const usualCharacters = [..."aA1bB2cC3dD4-_ .,:;/+@#é"];
