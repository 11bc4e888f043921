// JSON as text: what JSON.parse drops, the exact digits of a number and the place of a mistake; and what it costs too
// much for, a long text of which three members matter.
//
// Bun's JSON.parse reports neither a position nor, without a reviver, a number's digits; and a reviver, like
// the parsers on npm that report positions, recurses, so that a megabyte of "[" ends it. It makes an object of everything
// as well: a megabyte of brackets takes it 30 to 130 ms. This walk keeps its own stack, a byte for each open bracket, and
// makes nothing: no megabyte takes it more than some 10 ms. For a common body it is slower, 1 µs against 0.5.

/** Where and why a text is not JSON (RFC 8259). Lines and columns count from 1, columns in UTF-16 code units. */
export interface JsonSyntaxError {
  readonly line: number;
  readonly column: number;
  readonly expected: string;
  readonly found: string;
}

/**
 * What a walk over a whole text found: its first fault, or the texts of the wanted members of its outermost object. Of
 * members with one name the last one counts.
 */
export type JsonScan =
  | { readonly fault: JsonSyntaxError }
  | { readonly members: ReadonlyMap<string, string> };

// What may come next, as numbers: comparing strings took a third of the time.
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

/**
 * Walks a JSON text from its first character to its first fault or its end. Never throws, and takes time linear in the
 * text, whatever it holds.
 *
 * @param wanted Names of members of the outermost object, whose texts are given as they stand.
 */
export function scanJson(text: string, wanted: readonly string[]): JsonScan {
  const starts = wanted.map(() => -1);
  const ends = wanted.map(() => -1);
  /** Whether each open bracket is one of an object. */
  let open = new Uint8Array(64);
  let depth = 0;
  let isObject = false;
  /** The wanted member whose value comes or goes on, or -1. */
  let member = -1;
  let expects = value;
  let at = spaceEnd(text, 0);

  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === closeBrace || unit === closeBracket) {
      const mayEnd = expects === commaOrEnd || expects === (unit === closeBrace ? nameOrEnd : valueOrEnd);
      if (depth === 0 || isObject !== (unit === closeBrace) || !mayEnd) return fault(text, at, expects);
      depth--;
      isObject = depth > 0 && open[depth - 1] === 1;
      at++;
    } else if (expects <= valueOrEnd) {
      if (depth === 1 && member >= 0) starts[member] = at;
      if (unit === openBrace || unit === openBracket) {
        if (depth === open.length) open = withRoom(open);
        isObject = unit === openBrace;
        open[depth++] = isObject ? 1 : 0;
        expects = isObject ? nameOrEnd : valueOrEnd;
        at = spaceEnd(text, at + 1);
        continue;
      }
      const end = unit === quote ? stringEnd(text, at) : scalarEnd(text, at);
      if (typeof end !== "number") return end;
      if (end === at) return fault(text, at, expects);
      at = end;
    } else if (unit === quote && expects <= nameOrEnd) {
      const end = stringEnd(text, at);
      if (typeof end !== "number") return end;
      if (depth === 1) member = indexOfName(wanted, text, at, end);
      at = spaceEnd(text, end);
      expects = colon;
      continue;
    } else if (unit === colonSign && expects === colon) {
      at = spaceEnd(text, at + 1);
      expects = value;
      continue;
    } else if (unit === comma && expects === commaOrEnd) {
      at = spaceEnd(text, at + 1);
      expects = isObject ? name : value;
      continue;
    } else {
      return fault(text, at, expects);
    }
    // Behind a value.
    if (depth === 1 && member >= 0) {
      ends[member] = at;
      member = -1;
    }
    expects = depth === 0 ? nothingMore : commaOrEnd;
    at = spaceEnd(text, at);
  }
  if (expects !== nothingMore) return fault(text, at, expects);
  const members = wanted.map((name, index) => [name, text.slice(starts[index], ends[index])] as const);
  return { members: new Map(members.filter((_, index) => (ends[index] ?? -1) >= 0)) };
}

/** The sentence part that names a fault's place and nature: `line 1, column 10: expected a value, found "}"`. */
export function describeFault(fault: JsonSyntaxError): string {
  return `line ${fault.line}, column ${fault.column}: ${fault.expected}, found ${fault.found}`;
}

/** Line and column of an index in a text, both counted from 1. */
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

function withRoom(open: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(2 * open.length);
  larger.set(open);
  return larger;
}

/** Which of the names a member has whose name stands at `start`, quotes and all; -1 if it has none of them. */
function indexOfName(names: readonly string[], text: string, start: number, end: number): number {
  const length = end - start - 2;
  let longest = 0;
  for (let index = 0; index < names.length; index++) {
    const name = names[index] ?? "";
    if (length === name.length && text.startsWith(name, start + 1)) return index;
    longest = Math.max(longest, name.length);
  }
  // Written as \u0069, a unit takes six; a longer name is not looked at.
  if (length > 6 * longest) return -1;
  const written = text.slice(start, end);
  return written.includes("\\") ? names.indexOf(JSON.parse(written)) : -1;
}

function spaceEnd(text: string, at: number): number {
  let end = at;
  for (; end < text.length; end++) {
    const unit = text.charCodeAt(end);
    if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) break;
  }
  return end;
}

/** The index behind the number or the literal that starts at `start`; `start` if there is none. */
function scalarEnd(text: string, start: number): number {
  switch (text.charCodeAt(start)) {
    case 0x74:
      return text.startsWith("true", start) ? start + 4 : start;
    case 0x66:
      return text.startsWith("false", start) ? start + 5 : start;
    case 0x6e:
      return text.startsWith("null", start) ? start + 4 : start;
    default:
      return numberEnd(text, start);
  }
}

/** RFC 8259, section 6: the end of the longest number that starts there. */
function numberEnd(text: string, start: number): number {
  const first = text.charCodeAt(start) === 0x2d ? start + 1 : start;
  // Of a zero in front of other digits the number is the zero alone.
  const whole = text.charCodeAt(first) === 0x30 ? first + 1 : digitsEnd(text, first);
  if (whole === first) return start;
  const point = text.charCodeAt(whole) === 0x2e ? digitsEnd(text, whole + 1) : whole;
  const end = point > whole + 1 ? point : whole;
  const mark = text.charCodeAt(end);
  if (mark !== 0x65 && mark !== 0x45) return end;
  const sign = text.charCodeAt(end + 1);
  const digits = sign === 0x2b || sign === 0x2d ? end + 2 : end + 1;
  const exponentEnd = digitsEnd(text, digits);
  return exponentEnd > digits ? exponentEnd : end;
}

function digitsEnd(text: string, start: number): number {
  let end = start;
  for (; end < text.length; end++) {
    const unit = text.charCodeAt(end);
    if (unit < 0x30 || unit > 0x39) break;
  }
  return end;
}

/** The index behind the string that starts at `start`, or the fault in it. */
function stringEnd(text: string, start: number): number | { fault: JsonSyntaxError } {
  let at = start + 1;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === quote) return at + 1;
    if (unit < 0x20) return { fault: faultAt(text, at, "expected control characters to be escaped") };
    if (unit === backslash) {
      const end = escapeEnd(text, at);
      if (end === at)
        return { fault: faultAt(text, at, 'expected an escape such as \\n or \\u0041 after "\\"') };
      at = end;
    } else {
      at++;
    }
  }
  return { fault: faultAt(text, at, "expected a closing double quote") };
}

/** The index behind the escape that starts at `start`; `start` if there is none. */
function escapeEnd(text: string, start: number): number {
  switch (text.charCodeAt(start + 1)) {
    case quote:
    case backslash:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return start + 2;
    case 0x75:
      for (let at = start + 2; at < start + 6; at++) if (!isHexDigit(text.charCodeAt(at))) return start;
      return start + 6;
    default:
      return start;
  }
}

function isHexDigit(unit: number): boolean {
  const letter = unit | 0x20;
  return (unit >= 0x30 && unit <= 0x39) || (letter >= 0x61 && letter <= 0x66);
}

function fault(text: string, at: number, expects: number): { fault: JsonSyntaxError } {
  return { fault: faultAt(text, at, expectedSentences[expects] ?? "") };
}

function faultAt(text: string, at: number, expected: string): JsonSyntaxError {
  const codePoint = text.codePointAt(at);
  const found =
    codePoint === undefined ? "the end of the body" : JSON.stringify(String.fromCodePoint(codePoint));
  return { ...positionOf(text, at), expected, found };
}
