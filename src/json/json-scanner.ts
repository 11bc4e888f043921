// A JSON scanner: finds the position of a syntax error, and the texts of some members of the
// outermost object, with the exact digits of their numbers.
//
// Bun's JSON.parse reports neither a position nor, without a reviver, a number's digits; a reviver,
// like the parsers on npm that report positions, recurses, so a megabyte of "[" overflows the
// stack. JSON.parse also creates an object for every value. This scanner has its own stack, a byte
// for each open bracket, and creates no objects.

/**
 * The result of a scan: the first syntax error (RFC 8259), such as `line 1, column 10: expected a
 * value, found "}"`, or the texts of the wanted members of the outermost object. Of several members
 * with the same name it is the last one.
 */
export type JsonScan =
  | { readonly error: string }
  | {
      readonly members: ReadonlyMap<string, string>;
      /** The name of the first member that is not wanted; undefined if there is none. */
      readonly other: string | undefined;
    };

// The states of the scanner, named by the token that may come next: numbers, which are compared faster than texts.
const value = 0;
const valueOrEnd = 1;
const name = 2;
const nameOrEnd = 3;
const colon = 4;
const commaOrEnd = 5;
const nothingMore = 6;

const expectedSentences = [
  "expected a value",
  'expected a value or "]"',
  "expected a member name in double quotes",
  'expected a member name in double quotes or "}"',
  'expected ":"',
  'expected "," or the closing bracket',
  "expected nothing more",
];

// UTF-16 code units.
const [quote, backslash, comma, colonSign] = [0x22, 0x5c, 0x2c, 0x3a];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];

/** @param wanted Names of members of the outermost object, whose texts are returned unparsed. */
export function scanJson(text: string, wanted: readonly string[]): JsonScan {
  const starts = wanted.map(() => -1);
  const ends = wanted.map(() => -1);
  /** For each open bracket, 1 if it is that of an object. */
  let open = new Uint8Array(64);
  let depth = 0;
  let isObject = false;
  /** The index of the wanted member whose value is expected or being scanned, or -1. */
  let member = -1;
  let [otherStart, otherEnd] = [-1, -1];
  let expects = value;
  let at = whitespaceEnd(text, 0);

  while (at < text.length) {
    const codeUnit = text.charCodeAt(at);
    if (codeUnit === closeBrace || codeUnit === closeBracket) {
      const mayEnd = expects === commaOrEnd || expects === (codeUnit === closeBrace ? nameOrEnd : valueOrEnd);
      if (depth === 0 || isObject !== (codeUnit === closeBrace) || !mayEnd)
        return unexpected(text, at, expects);
      depth--;
      isObject = depth > 0 && open[depth - 1] === 1;
      at++;
    } else if (expects <= valueOrEnd) {
      if (depth === 1 && member >= 0) starts[member] = at;
      if (codeUnit === openBrace || codeUnit === openBracket) {
        if (depth === open.length) open = new Uint8Array(open.buffer.transfer(2 * open.length));
        isObject = codeUnit === openBrace;
        open[depth++] = isObject ? 1 : 0;
        expects = isObject ? nameOrEnd : valueOrEnd;
        at = whitespaceEnd(text, at + 1);
        continue;
      }
      const end = codeUnit === quote ? stringEnd(text, at) : matchEnd(scalar, text, at);
      if (typeof end !== "number") return end;
      if (end === at) return unexpected(text, at, expects);
      at = end;
    } else if (codeUnit === quote && expects <= nameOrEnd) {
      const end = stringEnd(text, at);
      if (typeof end !== "number") return end;
      if (depth === 1) {
        member = indexOfName(wanted, text, at, end);
        if (member === -1 && otherStart === -1) [otherStart, otherEnd] = [at, end];
      }
      at = whitespaceEnd(text, end);
      expects = colon;
      continue;
    } else if (codeUnit === colonSign && expects === colon) {
      at = whitespaceEnd(text, at + 1);
      expects = value;
      continue;
    } else if (codeUnit === comma && expects === commaOrEnd) {
      at = whitespaceEnd(text, at + 1);
      expects = isObject ? name : value;
      continue;
    } else {
      return unexpected(text, at, expects);
    }
    // After a value.
    if (depth === 1 && member >= 0) {
      ends[member] = at;
      member = -1;
    }
    expects = depth === 0 ? nothingMore : commaOrEnd;
    at = whitespaceEnd(text, at);
  }
  if (expects !== nothingMore) return unexpected(text, at, expects);
  const members = wanted.map((name, index) => [name, text.slice(starts[index], ends[index])] as const);
  const other = otherStart === -1 ? undefined : JSON.parse(text.slice(otherStart, otherEnd));
  return { members: new Map(members.filter((_, index) => (ends[index] ?? -1) >= 0)), other };
}

/** The index after the string that begins at an index of valid JSON. */
export function endOfString(json: string, start: number): number {
  for (let end = json.indexOf('"', start + 1); ; end = json.indexOf('"', end + 1)) {
    let backslashes = 0;
    while (json.charCodeAt(end - 1 - backslashes) === backslash) backslashes++;
    if (backslashes % 2 === 0) return end + 1;
  }
}

/** Line and column of an index in a text, counted from 1, columns in UTF-16 code units. */
export function positionOf(text: string, index: number): { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  for (let at = 0; at < index; at++) {
    if (text.charCodeAt(at) !== 0x0a) continue;
    line++;
    lineStart = at + 1;
  }
  return { line, column: index - lineStart + 1 };
}

/** The index in `names` of the member name from `start` to `end`, quotes included; -1 if none. */
function indexOfName(names: readonly string[], text: string, start: number, end: number): number {
  const length = end - start - 2;
  let longest = 0;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? "";
    if (length === name.length && text.startsWith(name, start + 1)) return index;
    longest = Math.max(longest, name.length);
  }
  // Escaped as \u0069, a code unit takes six; a longer name cannot match.
  if (length > 6 * longest) return -1;
  const written = text.slice(start, end);
  return written.includes("\\") ? names.indexOf(JSON.parse(written)) : -1;
}

// Sticky, and without a loop around alternatives: those take stack for each character.
const whitespace = /[ \t\n\r]*/y;
const scalar = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: RFC 8259, section 7
const unescaped = /[^"\\\0-\x1f]*/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})/y;

/** The index after a match at `start`; `start` if there is none. */
function matchEnd(pattern: RegExp, text: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(text) ? pattern.lastIndex : start;
}

function whitespaceEnd(text: string, at: number): number {
  // Most have none.
  return text.charCodeAt(at) <= 0x20 ? matchEnd(whitespace, text, at) : at;
}

/** The index after the string at `start`, or the syntax error in it. */
function stringEnd(text: string, start: number): number | { error: string } {
  let at = matchEnd(unescaped, text, start + 1);
  while (text.charCodeAt(at) === backslash) {
    const end = matchEnd(escapeSequence, text, at);
    if (end === at)
      return { error: syntaxErrorAt(text, at, 'expected an escape such as \\n or \\u0041 after "\\"') };
    at = matchEnd(unescaped, text, end);
  }
  if (text.charCodeAt(at) === quote) return at + 1;
  const expected =
    at < text.length ? "expected control characters to be escaped" : "expected a closing double quote";
  return { error: syntaxErrorAt(text, at, expected) };
}

function unexpected(text: string, at: number, expects: number): { error: string } {
  return { error: syntaxErrorAt(text, at, expectedSentences[expects] ?? "") };
}

function syntaxErrorAt(text: string, at: number, expected: string): string {
  const { line, column } = positionOf(text, at);
  const codePoint = text.codePointAt(at);
  const found =
    codePoint === undefined ? "the end of the body" : JSON.stringify(String.fromCodePoint(codePoint));
  return `line ${line}, column ${column}: ${expected}, found ${found}`;
}
