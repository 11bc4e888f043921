// Translates patterns of ECMA 262 to RE2's syntax.

import { type AST, RegExpParser, RegExpSyntaxError } from "@eslint-community/regexpp";

/** Matches syntax that only the flag u has. */
const unicodeOnly = /\\[pPu]\{|[\u{10000}-\u{10ffff}]/u;

/**
 * Parses a pattern with the flag u, as JSON Schema has it, or without it where only the flag makes it
 * an error, such as `\_` or a lone `{`. Throws a SyntaxError.
 */
export function parsePattern(pattern: string): AST.Pattern {
  const parser = new RegExpParser({ ecmaVersion: 2022 });
  const parse = (unicode: boolean) => parser.parsePattern(pattern, 0, pattern.length, { unicode });
  try {
    return parse(true);
  } catch (error) {
    if (!(error instanceof RegExpSyntaxError)) throw error;
    try {
      if (!unicodeOnly.test(pattern)) return parse(false);
    } catch {
      // The message of the flag u is the one that counts.
    }
    throw new SyntaxError(error.message.replace(/^.*\/u: /s, ""));
  }
}

/** Copies of one part of a pattern in another are limited to this, and RE2's repeats to the same. */
const repeatsMax = 1_000;
const expandedCodeUnitsMax = 100_000;

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

/** Translates a pattern. Throws an Error for one that is none, or that RE2 cannot match. */
export function toRe2(pattern: string): string {
  return alternatives(parsePattern(pattern).alternatives).text;
}

function alternatives(all: readonly AST.Alternative[]): Part {
  let repeats = 1;
  const texts = all.map(({ elements }) => {
    let text = "";
    for (const element of elements) {
      const part = translated(element);
      text += part.text;
      repeats = Math.max(repeats, part.repeats);
      if (text.length > expandedCodeUnitsMax) throw new Error("it repeats too much");
    }
    return text;
  });
  return { text: texts.join("|"), repeats };
}

function translated(element: AST.Element): Part {
  switch (element.type) {
    case "Group":
    case "CapturingGroup": {
      const { text, repeats } = alternatives(element.alternatives);
      return { text: `(?:${text})`, repeats };
    }
    case "Quantifier":
      return repeated(translated(element.element), element);
    case "Backreference":
      throw new Error("it has a back-reference");
    case "Assertion":
      if (element.kind === "lookahead" || element.kind === "lookbehind")
        throw new Error("it has look-around");
      return { text: element.raw, repeats: 1 };
    case "CharacterClass":
      return { text: characterClass(element), repeats: 1 };
    case "Character":
      return { text: literal(element.value), repeats: 1 };
    case "CharacterSet":
      return { text: `[${characterSet(element)}]`, repeats: 1 };
    default:
      throw new Error(`it has ${element.raw}`);
  }
}

function repeated(atom: Part, { min, max }: AST.Quantifier): Part {
  if (max === Number.POSITIVE_INFINITY)
    return min < 2
      ? { ...atom, text: atom.text + (min === 0 ? "*" : "+") }
      : copies(atom, min, `${atom.text}*`);
  if (min === max) return copies(atom, min, "");
  const required = copies(atom, min, "");
  const optional = copies(atom, max - min, "", true);
  return {
    text: min === 0 ? optional.text : `(?:${required.text}${optional.text})`,
    repeats: Math.max(required.repeats, optional.repeats),
  };
}

/** Repeats a part, in as many pieces as RE2 needs. */
function copies(atom: Part, count: number, rest: string, isOptional = false): Part {
  const most = Math.max(1, Math.floor(repeatsMax / atom.repeats));
  const pieces = Math.floor(count / most);
  if (pieces * atom.text.length > expandedCodeUnitsMax) throw new Error("it repeats too much");
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

function characterClass({ negate, elements }: AST.CharacterClass): string {
  const text = (elements as readonly AST.ClassRangesCharacterClassElement[])
    .map((element) => {
      if (element.type === "Character") return literal(element.value);
      if (element.type === "CharacterSet") return characterSet(element);
      return `${literal(element.min.value)}-${literal(element.max.value)}`;
    })
    .join("");
  if (text !== "") return `[${negate ? "^" : ""}${text}]`;
  return `[${negate ? "" : "^"}\\x{0}-\\x{${lastCodePoint.toString(16)}}]`;
}

/** The inside of a class. */
function characterSet(set: AST.CharacterSet): string {
  if (set.kind === "any") return "^\\n\\r\\x{2028}\\x{2029}";
  if (set.kind === "property") {
    const value = set.value ?? set.key;
    return `\\${set.negate ? "P" : "p"}{${categories.get(value) ?? value}}`;
  }
  if (set.kind !== "space") return set.raw;
  if (!set.negate) return ranges(spaces);
  return ranges([0, ...spaces.map((code, index) => code + (index % 2 === 0 ? -1 : 1)), lastCodePoint]);
}

function literal(codePoint: number): string {
  const character = String.fromCodePoint(codePoint);
  return /[\w ]/.test(character) ? character : `\\x{${codePoint.toString(16)}}`;
}

/** The inside of a class, from pairs of code points. */
function ranges(bounds: readonly number[]): string {
  return bounds.map((code, index) => (index % 2 === 0 ? literal(code) : `-${literal(code)}`)).join("");
}
