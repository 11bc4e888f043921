// JSON with integers of any length. Node 20's JSON.parse does not give the digits of a number to
// its reviver, and its JSON.stringify rejects a bigint.

/** The id as a bigint. Throws a TypeError for a number that is not a safe integer. */
export function exactId(id: unknown): bigint {
  if (typeof id === "bigint") return id;
  if (typeof id !== "number") {
    throw new TypeError(
      `"id" must be a bigint or a safe integer, but is ${id === null ? "null" : `a ${typeof id}`}`,
    );
  }
  if (!Number.isSafeInteger(id)) {
    throw new TypeError(
      `"id" must be a bigint or a safe integer, but is the number ${id}; use a bigint for large ids, such as 9007199254740993n`,
    );
  }
  return BigInt(id);
}

const number = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** An integer that a JavaScript number may not hold exactly. */
const longInteger = /^-?\d{16,}$/;

/** Parses JSON as JSON.parse does, but an integer beyond the safe integers is a bigint. */
export function parseExactJson(text: string): unknown {
  return JSON.parse(wrapLongIntegers(text), unwrap);
}

/** Writes JSON as JSON.stringify does, but a bigint is a number with its exact digits. */
export function toExactJson(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  // A function or a symbol has no JSON.
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  if (Array.isArray(value)) return `[${value.map(toExactJson).join(",")}]`;
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${toExactJson(member)}`).join(",")}}`;
}

/** The only member of an object that stands for a long integer; no object of control is like it. */
const wrapper = "\0integer";

function wrapLongIntegers(text: string): string {
  let wrapped = "";
  let at = 0;
  while (at < text.length) {
    const quote = text.indexOf('"', at);
    const end = quote === -1 ? text.length : quote;
    wrapped += text.slice(at, end).replaceAll(number, wrapLongInteger);
    at = stringEnd(text, end);
    wrapped += text.slice(end, at);
  }
  return wrapped;
}

function wrapLongInteger(digits: string): string {
  return longInteger.test(digits) ? `{${JSON.stringify(wrapper)}:"${digits}"}` : digits;
}

/** The index after the string whose quote is at `start`. */
function stringEnd(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === '"') return at + 1;
  }
  return text.length;
}

function unwrap(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !(wrapper in value)) return value;
  const digits = String(value[wrapper]);
  const number = Number(digits);
  return Number.isSafeInteger(number) ? number : BigInt(digits);
}
