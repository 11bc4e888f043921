// Makes texts that fit a pattern or a format and a length, for examples. A text need not fit: whoever
// asks for one checks it, by the schema that it is for.

import type { AST } from "@eslint-community/regexpp";
import type { Json } from "../../json/json-values.ts";
import { textFormat } from "./formats.ts";
import { parsePattern } from "./re2-patterns.ts";

/** The longest text that is made. */
const charactersMax = 10_000;

/** Texts that are made until one has the length. */
const attemptsMax = 20;

/**
 * A text for the pattern, the format and the length of a schema; undefined if none is found.
 *
 * @param choice another one gives other characters.
 */
export function sampleText(schema: Json, choice = 0): string | undefined {
  const { pattern, format, minLength, maxLength } = schema;
  const least = Number(minLength ?? 0);
  const most = Math.min(Number(maxLength ?? charactersMax), charactersMax);
  if (least > most) return undefined;
  if (typeof pattern === "string") return patternText(pattern, choice, least, most);
  const example = textFormat(format)?.example;
  if (example === undefined) return plainText(least, most, choice);
  if (example.length >= least && example.length <= most) return example;
  if (format !== "byte") return undefined;
  return "cGxh".repeat(Math.max(Math.ceil(least / 4), most < 4 ? 0 : 1));
}

function plainText(least: number, most: number, choice: number): string {
  const word = choice === 0 ? "string" : `string${choice}`;
  const length = Math.max(Math.min(word.length, most), least);
  // The end of a word tells it from others.
  return length < word.length ? word.slice(-length || word.length) : word.padEnd(length, "string");
}

/** A text for a pattern with as few repeats as it may have, and more where it is short. */
function patternText(pattern: string, choice: number, least: number, most: number): string | undefined {
  let parsed: AST.Pattern;
  try {
    parsed = parsePattern(pattern);
  } catch {
    // The reader of the schema says what is wrong with it.
    return undefined;
  }
  let room = 0;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const text = new PatternText(choice, room).of(parsed.alternatives);
    if (text.length >= least && text.length <= most) return text;
    // A pattern without an end takes any text after it.
    if (!pattern.endsWith("$") && text.length < least) return text.padEnd(least, "a");
    room += text.length < least ? least - text.length : most - text.length;
  }
  return undefined;
}

class PatternText {
  readonly #choice: number;
  /** Characters that repeats may still add. */
  #room: number;

  constructor(choice: number, room: number) {
    this.#choice = choice;
    this.#room = room;
  }

  of([first]: readonly AST.Alternative[]): string {
    return (first?.elements ?? []).map((element) => this.#element(element)).join("");
  }

  #element(element: AST.Element): string {
    if (element.type === "Quantifier") return this.#repeated(element);
    if (element.type === "Group" || element.type === "CapturingGroup") return this.of(element.alternatives);
    if (element.type === "Character") return String.fromCodePoint(element.value);
    return element.type === "CharacterSet" || element.type === "CharacterClass" ? this.#chosen(element) : "";
  }

  #repeated({ min, max, element }: AST.Quantifier): string {
    let text = "";
    for (let count = 0; count < max && text.length < charactersMax; count++) {
      if (count >= min && this.#room <= 0) break;
      const part = this.#element(element);
      if (count >= min) this.#room -= Math.max(part.length, 1);
      text += part;
    }
    return text;
  }

  /** A character of a class, of which the likeliest come first. */
  #chosen({ raw }: AST.CharacterSet | AST.CharacterClass): string {
    // A class alone takes constant time.
    const expression = new RegExp(`^${raw}$`, textFormat("regex")?.accepts(raw) ? "u" : "");
    const fitting = [...usualCharacters, ...raw].filter((each) => expression.test(each));
    return fitting[this.#choice % fitting.length] ?? "";
  }
}

/** Characters that a text may have, the likeliest first. */
const usualCharacters = [..."aA1bB2cC3dD4-_ .,:;/+@#é"];
