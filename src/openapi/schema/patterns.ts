// Translates patterns of ECMA 262 with the flag u to RE2, which takes linear time: a pattern is the
// author's, and the texts are a stranger's. No pattern of a description becomes a RegExp.

import type { RE2JS as Re2 } from "re2js";
import type { Work } from "../../contract/schema-check.ts";
import { hasLength } from "./values.ts";

export interface TextPattern {
  matches(text: string, work: Work): boolean;
}

/** Why a pattern cannot be used. */
export class PatternError extends Error {}

let engine: typeof Re2 | undefined;

/** Loads the engine, which compilePattern uses: for descriptions with patterns only. */
export async function loadPatterns(): Promise<void> {
  engine ??= (await import("re2js")).RE2JS;
}

/**
 * Memory for the states of one pattern, in bytes. RE2 makes 8 MB of them by default, in 100 ms; without
 * room for more it goes on without them.
 */
const stateBytesMax = 1 << 17;

/**
 * Instructions of a pattern, times characters, that count as one step. At worst they take 60 ns, where
 * each character leads to a new state; with common patterns some 2 ns.
 */
const instructionsPerStep = 2;

/** A pattern that every text fits that can be stored. */
export function isStorablePattern(pattern: unknown): boolean {
  return pattern === "^[^\\x00]*$" || pattern === "^[^\\u0000]*$";
}

/** Throws a PatternError. */
export function compilePattern(pattern: string): TextPattern {
  if (engine === undefined) throw new Error("the engine of patterns is not loaded");
  if (isStorablePattern(pattern)) return { matches: (text) => !text.includes("\0") };
  const { rest, accepts } = wholeLength(pattern);
  let compiled: Re2;
  try {
    compiled = engine.compile(new Translation(rest).whole());
  } catch (error) {
    if (error instanceof PatternError) throw error;
    const reason = (error as Error).message.replace(/^error parsing regexp: /, "");
    throw refusal(pattern, reason);
  }
  const re2 = compiled.re2();
  re2.dfa.stateBudget = stateBytesMax;
  re2.dfa.memBudget = stateBytesMax;
  // A pattern of one pass has one state at a time.
  const instructions = re2.onepass === null ? compiled.programSize() : 2;
  return {
    matches(text, work) {
      work.spend(Math.ceil((instructions * (text.length + 1)) / instructionsPerStep));
      return accepts(text) && compiled.test(text);
    },
  };
}

/**
 * Takes the limits from a pattern such as `^[a-z]{1,2000}$`, which are those of the text's length: as
 * a pattern they would be 2000 instructions.
 */
function wholeLength(pattern: string): { rest: string; accepts: (text: string) => boolean } {
  const [, atom, least, comma, most] =
    /^\^([^\\^$*+?()[\]{}|]|\\[dDwWsS]|\[(?:[^[\]\\]|\\.)+\])\{(\d+)(,?)(\d*)\}\$$/su.exec(pattern) ?? [];
  if (atom === undefined) return { rest: pattern, accepts: () => true };
  const greatest = most !== "" ? Number(most) : comma === "" ? Number(least) : Number.POSITIVE_INFINITY;
  return { rest: `^${atom}*$`, accepts: (text) => hasLength(text, Number(least), greatest) };
}

/** Copies of one part of a pattern in another are limited to this, and RE2's repeats to the same. */
const repeatsMax = 1_000;
const expandedCodeUnitsMax = 100_000;
const depthMax = 200;

/** Characters that ECMA 262 takes as white space or as the end of a line, as ranges. */
const spaces = [
  0x9, 0xd, 0x20, 0x20, 0xa0, 0xa0, 0x1680, 0x1680, 0x2000, 0x200a, 0x2028, 0x2029, 0x202f, 0x202f, 0x205f,
  0x205f, 0x3000, 0x3000, 0xfeff, 0xfeff,
];
const lastCodePoint = 0x10ffff;

/** Names of general categories, as RE2 has them. */
const categories = new Map(
  `L Letter, LC Cased_Letter, Lu Uppercase_Letter, Ll Lowercase_Letter, Lt Titlecase_Letter,
  Lm Modifier_Letter, Lo Other_Letter, M Mark, M Combining_Mark, Mn Nonspacing_Mark, Mc Spacing_Mark,
  Me Enclosing_Mark, N Number, Nd Decimal_Number, Nd digit, Nl Letter_Number, No Other_Number,
  P Punctuation, P punct, Pc Connector_Punctuation, Pd Dash_Punctuation, Ps Open_Punctuation,
  Pe Close_Punctuation, Pi Initial_Punctuation, Pf Final_Punctuation, Po Other_Punctuation, S Symbol,
  Sm Math_Symbol, Sc Currency_Symbol, Sk Modifier_Symbol, So Other_Symbol, Z Separator,
  Zs Space_Separator, Zl Line_Separator, Zp Paragraph_Separator, C Other, Cc Control, Cc cntrl,
  Cf Format, Cs Surrogate, Co Private_Use, Cn Unassigned, Ascii ASCII`
    .split(/,\s+/)
    .map((pair) => pair.split(" ").reverse() as [string, string]),
);

/** A part of a pattern: its text for RE2, and how often its innermost part is repeated. */
interface Part {
  readonly text: string;
  readonly repeats: number;
}

/**
 * Translates a pattern. Where only the flag u makes something an error, such as `\_` or a lone `{`, it
 * is taken as it is without the flag.
 */
class Translation {
  readonly #pattern: string;
  #at = 0;
  #depth = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  whole(): string {
    const { text } = this.#alternatives();
    if (this.#at < this.#pattern.length) throw this.#refused("a parenthesis is closed that is not open");
    return text;
  }

  #alternatives(): Part {
    if (++this.#depth > depthMax) throw this.#refused("its groups are nested too deeply");
    let text = "";
    let repeats = 1;
    while (this.#at < this.#pattern.length && this.#pattern[this.#at] !== ")") {
      const part = this.#take("|") ? { text: "|", repeats: 1 } : this.#repeated(this.#atom());
      text += part.text;
      repeats = Math.max(repeats, part.repeats);
      if (text.length > expandedCodeUnitsMax) throw this.#refused("it repeats too much");
    }
    this.#depth--;
    return { text, repeats };
  }

  /** Parses an atom; an assertion, which has no quantifier, repeats 0 times. */
  #atom(): Part {
    const character = this.#next();
    if (character === "^" || character === "$") return { text: character, repeats: 0 };
    if (character === "(") return this.#group();
    if (character === "[") return { text: this.#class(), repeats: 1 };
    if (character === ".") return { text: "[^\\n\\r\\x{2028}\\x{2029}]", repeats: 1 };
    if ("*+?".includes(character)) throw this.#refused(`there is nothing that ${character} repeats`);
    if (character !== "\\") return { text: literal(character.codePointAt(0) as number), repeats: 1 };
    if (this.#take("b")) return { text: "\\b", repeats: 0 };
    if (this.#take("B")) return { text: "\\B", repeats: 0 };
    const escaped = this.#escape();
    return { text: typeof escaped === "number" ? literal(escaped) : `[${escaped}]`, repeats: 1 };
  }

  #group(): Part {
    if (/^\?<?[=!]/.test(this.#pattern.slice(this.#at, this.#at + 3))) throw this.#notRe2("look-around");
    const start = /^\?(?::|<[\p{L}\p{N}$_\\{}]+>)/u.exec(this.#pattern.slice(this.#at, this.#at + 100))?.[0];
    if (start === undefined && this.#pattern[this.#at] === "?")
      throw this.#refused("a group starts with ( or (?: or (?<name>");
    this.#at += start?.length ?? 0;
    const { text, repeats } = this.#alternatives();
    if (!this.#take(")")) throw this.#refused("a group is not closed");
    return { text: `(?:${text})`, repeats };
  }

  #repeated(atom: Part): Part {
    const [quantifier, least, comma, most] =
      /^(?:[*+?]|\{(\d+)(,?)(\d*)\})/.exec(this.#pattern.slice(this.#at, this.#at + 50)) ?? [];
    if (quantifier === undefined) return atom.repeats === 0 ? { ...atom, repeats: 1 } : atom;
    if (atom.repeats === 0) throw this.#refused(`there is nothing that ${quantifier} repeats`);
    this.#at += quantifier.length;
    // A lazy one accepts the same texts.
    this.#take("?");
    if (least === undefined) return { ...atom, text: atom.text + quantifier };
    const min = Number(least);
    if (comma === "") return this.#copies(atom, min, "");
    if (most === "") return this.#copies(atom, min, `${atom.text}*`);
    if (Number(most) < min) throw this.#refused(`the numbers of ${quantifier} are out of order`);
    const required = this.#copies(atom, min, "");
    const optional = this.#copies(atom, Number(most) - min, "", true);
    return {
      text: min === 0 ? optional.text : `(?:${required.text}${optional.text})`,
      repeats: Math.max(required.repeats, optional.repeats),
    };
  }

  /** Repeats a part, in as many pieces as RE2 needs. */
  #copies(atom: Part, count: number, rest: string, isOptional = false): Part {
    const most = Math.max(1, Math.floor(repeatsMax / atom.repeats));
    const pieces = Math.floor(count / most);
    if (pieces * atom.text.length > expandedCodeUnitsMax) throw this.#refused("it repeats too much");
    const exactly = (length: number) => (length === 1 ? atom.text : `${atom.text}{${length}}`);
    const upTo = (length: number) => (length === 1 ? `${atom.text}?` : `${atom.text}{0,${length}}`);
    const remainder = count - pieces * most;
    let text = remainder === 0 ? "" : isOptional ? upTo(remainder) : exactly(remainder);
    for (let piece = 0; piece < pieces; piece++) {
      // Either all of a piece and what follows, or less: few states at a time.
      if (isOptional)
        text = text === "" ? upTo(most) : `(?:${exactly(most)}${text}|${most === 1 ? "" : upTo(most - 1)})`;
      else text = exactly(most) + text;
    }
    return { text: `(?:${text}${rest})`, repeats: atom.repeats * Math.max(1, Math.min(count, most)) };
  }

  #class(): string {
    const isNegated = this.#take("^");
    let text = "";
    while (!this.#take("]")) {
      const from = this.#classAtom();
      const hasRange = this.#pattern[this.#at] === "-" && this.#pattern[this.#at + 1] !== "]";
      if (typeof from === "string" || !hasRange) {
        text += typeof from === "string" ? from : literal(from);
        continue;
      }
      this.#at++;
      const to = this.#classAtom();
      // A hyphen before a class such as \d stands for itself.
      if (typeof to === "string") text += `${literal(from)}\\x2d${to}`;
      else if (to < from) throw this.#refused("a range of characters is out of order");
      else text += `${literal(from)}-${literal(to)}`;
    }
    if (text !== "") return `[${isNegated ? "^" : ""}${text}]`;
    return `[${isNegated ? "" : "^"}\\x{0}-\\x{${lastCodePoint.toString(16)}}]`;
  }

  #classAtom(): number | string {
    if (this.#at >= this.#pattern.length) throw this.#refused("a class of characters is not closed");
    const character = this.#next();
    if (character !== "\\") return character.codePointAt(0) as number;
    return this.#take("b") ? 8 : this.#escape();
  }

  /** Parses what follows a backslash: a code point, or the inside of a class. */
  #escape(): number | string {
    if (this.#at >= this.#pattern.length) throw this.#refused("it ends with a backslash");
    const character = this.#next();
    if ("dDwW".includes(character)) return `\\${character}`;
    if (character === "s") return ranges(spaces);
    if (character === "S")
      return ranges([0, ...spaces.map((code, index) => code + (index % 2 === 0 ? -1 : 1)), lastCodePoint]);
    if (character === "p" || character === "P") return this.#property(character);
    if (/[1-9k]/.test(character)) throw this.#notRe2("a back-reference");
    const control = "tnvfr0".indexOf(character);
    if (control >= 0) return [9, 10, 11, 12, 13, 0][control] as number;
    if (character === "c") return (this.#digits(/^[A-Za-z]/, character).codePointAt(0) as number) % 32;
    if (character === "x") return Number.parseInt(this.#digits(/^[\da-fA-F]{2}/, character), 16);
    if (character === "u") return this.#unicode();
    if (/[A-Za-z]/.test(character)) throw this.#refused(`\\${character} is no escape of ECMA 262`);
    return character.codePointAt(0) as number;
  }

  #unicode(): number {
    if (this.#pattern[this.#at] === "{") {
      const code = Number.parseInt(this.#digits(/^\{[\da-fA-F]+\}/, "u").slice(1, -1), 16);
      if (code > lastCodePoint) throw this.#refused("a code point is past 10FFFF");
      return code;
    }
    const code = Number.parseInt(this.#digits(/^[\da-fA-F]{4}/, "u"), 16);
    const low = /^\\u([dD][c-fC-F][\da-fA-F]{2})/.exec(this.#pattern.slice(this.#at, this.#at + 6))?.[1];
    if (code < 0xd800 || code > 0xdbff || low === undefined) return code;
    this.#at += 6;
    return 0x10000 + (code - 0xd800) * 0x400 + Number.parseInt(low, 16) - 0xdc00;
  }

  #property(letter: string): string {
    const written = this.#digits(/^\{[\w=]+\}/, letter).slice(1, -1);
    const value = written.replace(/^(?:General_Category|gc|Script|sc)=/, "");
    return `\\${letter}{${categories.get(value) ?? value}}`;
  }

  #digits(expected: RegExp, letter: string): string {
    const found = expected.exec(this.#pattern.slice(this.#at, this.#at + 50))?.[0];
    if (found === undefined) throw this.#refused(`\\${letter} is not complete`);
    this.#at += found.length;
    return found;
  }

  #next(): string {
    const character = String.fromCodePoint(this.#pattern.codePointAt(this.#at) as number);
    this.#at += character.length;
    return character;
  }

  #take(character: string): boolean {
    if (this.#pattern[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #notRe2(what: string): PatternError {
    return new PatternError(
      `the pattern ${this.#pattern} is not one of RE2, which has no look-around and no back-references (it has ${what})`,
    );
  }

  #refused(reason: string): PatternError {
    return refusal(this.#pattern, reason);
  }
}

function refusal(pattern: string, reason: string): PatternError {
  return new PatternError(`the pattern ${pattern} is not one of ECMA 262 that is supported: ${reason}`);
}

function literal(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  return /[\w ]/.test(character) ? character : `\\x{${codePoint.toString(16)}}`;
}

/** The inside of a class, from pairs of code points. */
function ranges(bounds: readonly number[]): string {
  return bounds.map((code, index) => (index % 2 === 0 ? literal(code) : `-${literal(code)}`)).join("");
}
