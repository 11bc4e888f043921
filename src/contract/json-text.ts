// JSON as text: what JSON.parse drops, the exact digits of a number and the place of a mistake.
//
// Bun's JSON.parse reports neither a position nor, without a reviver, a number's digits; and a reviver, like
// the parsers on npm that report positions, recurses, so that a megabyte of "[" ends it. This walk keeps its own
// stack. It is slower than JSON.parse and runs only where that cannot answer.

/** Where and why a text is not JSON (RFC 8259). Lines and columns count from 1, columns in UTF-16 code units. */
export interface JsonFault {
  readonly line: number;
  readonly column: number;
  readonly expected: string;
  readonly found: string;
}

/** What a walk over a whole text found: its first fault, or the texts of the numbers in its outermost object. */
export type JsonWalk = { readonly fault: JsonFault } | { readonly numbers: ReadonlyMap<string, string> };

type Expectation =
  | "value"
  | "value or end"
  | "name"
  | "name or end"
  | "colon"
  | "comma or end"
  | "nothing more";

const expectedSentence: Record<Expectation, string> = {
  value: "expected a value",
  "value or end": 'expected a value or "]"',
  name: "expected a member name in double quotes",
  "name or end": 'expected a member name in double quotes or "}"',
  colon: 'expected ":"',
  "comma or end": 'expected "," or the closing bracket',
  "nothing more": "expected nothing more",
};

const number = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const literal = /true|false|null/y;
const escapeSequence = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Walks a JSON text from its first character to its first fault or its end. Never throws. */
export function walkJson(text: string): JsonWalk {
  const numbers = new Map<string, string>();
  const open: ("{" | "[")[] = [];
  let name = "";
  let expects: Expectation = "value";
  let at = spaceEnd(text, 0);

  while (at < text.length) {
    const start = at;
    const character = text.charAt(at);
    const wantsValue = expects === "value" || expects === "value or end";
    const isMember = wantsValue && open.length === 1 && open[0] === "{";
    const wantsName = expects === "name" || expects === "name or end";

    // Of duplicate members the last one counts, whatever its kind.
    if (isMember) numbers.delete(name);
    if (character === "}" || character === "]") {
      const closesOpen = open.at(-1) === (character === "}" ? "{" : "[");
      const mayEnd =
        expects === "comma or end" || expects === (character === "}" ? "name or end" : "value or end");
      if (!closesOpen || !mayEnd) return fault(text, start, expects);
      open.pop();
      at++;
      expects = afterValue(open);
    } else if (wantsValue && (character === "{" || character === "[")) {
      open.push(character);
      at++;
      expects = character === "{" ? "name or end" : "value or end";
    } else if (wantsName && character === '"') {
      const end = stringEnd(text, at);
      if (typeof end !== "number") return end;
      name = JSON.parse(text.slice(at, end));
      at = end;
      expects = "colon";
    } else if (expects === "colon" && character === ":") {
      at++;
      expects = "value";
    } else if (expects === "comma or end" && character === ",") {
      at++;
      expects = open.at(-1) === "{" ? "name" : "value";
    } else if (wantsValue && character === '"') {
      const end = stringEnd(text, at);
      if (typeof end !== "number") return end;
      at = end;
      expects = afterValue(open);
    } else if (wantsValue) {
      const numberEnd = matchEnd(number, text, at);
      const end = numberEnd > at ? numberEnd : matchEnd(literal, text, at);
      if (end === at) return fault(text, start, expects);
      if (isMember && numberEnd > at) numbers.set(name, text.slice(at, end));
      at = end;
      expects = afterValue(open);
    } else {
      return fault(text, start, expects);
    }
    at = spaceEnd(text, at);
  }
  return expects === "nothing more" ? { numbers } : fault(text, at, expects);
}

/** The sentence part that names a fault's place and nature: `line 1, column 10: expected a value, found "}"`. */
export function describeFault(fault: JsonFault): string {
  return `line ${fault.line}, column ${fault.column}: ${fault.expected}, found ${fault.found}`;
}

/** Line and column of an index in a text, both counted from 1. */
export function positionOf(text: string, index: number): { line: number; column: number } {
  let line = 1;
  let lineStart = 0;
  for (let at = text.indexOf("\n"); at !== -1 && at < index; at = text.indexOf("\n", at + 1)) {
    line++;
    lineStart = at + 1;
  }
  return { line, column: index - lineStart + 1 };
}

function afterValue(open: readonly string[]): Expectation {
  return open.length === 0 ? "nothing more" : "comma or end";
}

/** By characters: a megabyte of "[" is walked in half the time that a pattern takes. */
function spaceEnd(text: string, at: number): number {
  let end = at;
  while (end < text.length && " \t\n\r".includes(text.charAt(end))) end++;
  return end;
}

function matchEnd(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at;
  return pattern.test(text) ? pattern.lastIndex : at;
}

/** The index behind the string that starts at `start`, or the fault in it. */
function stringEnd(text: string, start: number): number | { fault: JsonFault } {
  let at = start + 1;
  while (at < text.length) {
    const unit = text.charCodeAt(at);
    if (unit === 0x22) return at + 1;
    if (unit < 0x20) return { fault: faultAt(text, at, "expected control characters to be escaped") };
    if (unit === 0x5c) {
      const end = matchEnd(escapeSequence, text, at);
      if (end === at)
        return { fault: faultAt(text, at, 'expected an escape such as \\n or \\u0041 after "\\"') };
      at = end;
    } else {
      at++;
    }
  }
  return { fault: faultAt(text, at, "expected a closing double quote") };
}

function fault(text: string, at: number, expects: Expectation): { fault: JsonFault } {
  return { fault: faultAt(text, at, expectedSentence[expects]) };
}

function faultAt(text: string, at: number, expected: string): JsonFault {
  const codePoint = text.codePointAt(at);
  const found =
    codePoint === undefined ? "the end of the body" : JSON.stringify(String.fromCodePoint(codePoint));
  return { ...positionOf(text, at), expected, found };
}
