// Defines the types of fields: how their values are stored and compared. A schema may accept fewer:
// see `restricted`.

import { decimalText, scaledDecimal } from "../json/decimal.ts";
import { exactNumber, parseExactJson } from "../json/exact-json.ts";
import { parseInt64, parseJsonInt64 } from "../json/int64.ts";
import { filterJson, type JsonFilter } from "../json/json-filter.ts";
import { isObject } from "../json/json-values.ts";
import { describeFault, excessOf, type SchemaCheck, Work } from "./schema-check.ts";

/** A value of any type of field. A decimal number and an array or object are their JSON text. */
export type FieldValue = string | number | bigint | boolean | null;

/** A value as the column of an engine has it. */
export type ColumnValue = string | number | bigint | boolean | null;

/**
 * The operations on the values of a type. `undefined` stands for a value that is not of the type.
 */
export interface FieldType<Value extends FieldValue = FieldValue> {
  /** The kind of its values, such as "text": a column holds one kind, while limits may change. */
  readonly kind: string;
  /** The type in messages, such as "a string". */
  readonly expected: string;
  /**
   * Takes a value of JSON.parse.
   *
   * @param text returns its text in the body: a number may have lost digits in `value`.
   * @param isExact whether a safe integer has not.
   * @param work what the checks of the body may take. Throws WorkExceeded.
   */
  fromJson(value: unknown, text: () => string, isExact?: boolean, work?: Work): Value | undefined;
  /** Says what is wrong with JSON that is not of the type, if `expected` does not. */
  fault?(json: string): string | undefined;
  /** The value as JSON. */
  toJson(value: Value): string;
  /** Whether JSON.stringify writes a value like toJson. */
  readonly isPlain: boolean;
  /** Parses a cell of CSV, an argument or an input of the console. */
  parse(text: string): Value | undefined;
  /** The text that `parse` takes. */
  format(value: Value): string;
  equals(one: Value, other: Value): boolean;
  /** An upper bound of the text's length in UTF-16 code units. */
  size(value: Value): number;
  /** Why no engine can store a value exactly, such as "holds U+0000 at index 5". */
  unstorable(value: Value): string | undefined;
  /** The type of the column in each engine. */
  readonly column: { readonly sqlite: string; readonly postgres: string };
  toColumn(value: Value): Exclude<ColumnValue, null>;
  /** Takes a column of either engine, or its text in PostgreSQL's COPY. */
  fromColumn(value: Exclude<ColumnValue, null>): Value;
  /**
   * How a form edits a value: as text, as a number, as JSON, by a switch, or as one of some texts.
   */
  readonly input: "text" | "number" | "json" | "boolean" | readonly string[];
}

const isSame = (one: unknown, other: unknown) => one === other;
const nothing = () => undefined;

/** Defaults of types whose values are written as String writes them. */
const scalar = {
  toJson: String,
  format: String,
  equals: isSame,
  unstorable: nothing,
  toColumn: <Value>(value: Value) => value,
};

/** Defaults of types whose values are texts in every engine. */
const textual = {
  toJson: (value: string) => JSON.stringify(value),
  isPlain: true,
  format: (value: string) => value,
  equals: isSame,
  size: (value: string) => value.length,
  unstorable: findUnstorable,
  column: { sqlite: "TEXT", postgres: "text" },
  toColumn: (value: string) => value,
  fromColumn: String,
  input: "text",
} as const;

/** A text. */
export function text(expected = "a string"): FieldType<string> {
  const check = (value: unknown) => (typeof value === "string" ? value : undefined);
  return { ...textual, kind: "text", expected, fromJson: check, parse: check };
}

/** One of some texts. */
export function oneOf(values: readonly string[]): FieldType<string> {
  return { ...text(), input: values };
}

export function boolean(): FieldType<boolean> {
  return {
    ...scalar,
    kind: "boolean",
    expected: "a boolean",
    fromJson: (value) => (typeof value === "boolean" ? value : undefined),
    isPlain: true,
    parse: (value) => (/^(?:true|false)$/i.test(value) ? /^t/i.test(value) : undefined),
    size: () => 5,
    column: { sqlite: "INTEGER", postgres: "boolean" },
    // SQLite has 1, and PostgreSQL's COPY has t.
    fromColumn: (value) => value === true || value === 1n || value === 1 || value === "t",
    input: "boolean",
  };
}

/**
 * An integer of 64 bits, exact to the last digit.
 *
 * @param isSentAsText whether it may be a text of its digits.
 */
export function integer(expected = "an integer (int64)", isSentAsText = false): FieldType<bigint> {
  return {
    ...scalar,
    kind: "integer",
    expected,
    fromJson(value, digits, isExact = false) {
      if (typeof value !== "number")
        return isSentAsText && typeof value === "string" ? parseInt64(value) : undefined;
      return isExact && Number.isSafeInteger(value) ? BigInt(value) : parseJsonInt64(digits());
    },
    isPlain: false,
    parse: parseInt64,
    size: () => 20,
    column: { sqlite: "INTEGER", postgres: "bigint" },
    fromColumn: (value) => BigInt(value),
    input: "number",
  };
}

/**
 * A decimal number, exact.
 *
 * @param fractionDigits its digits after the point, so that 19.9 is 19.90; undefined to keep those
 * that were sent.
 */
export function decimal(
  fractionDigits?: number,
  expected = "a number of at most 38 digits",
): FieldType<string> {
  const parse = (value: string) => decimalText(value, fractionDigits);
  return {
    ...textual,
    kind: fractionDigits === undefined ? "decimal" : `decimal ${fractionDigits}`,
    expected,
    fromJson: (value, digits) => (typeof value === "number" ? parse(digits()) : undefined),
    toJson: (value) => value,
    isPlain: false,
    parse,
    // With digits that were sent, 19.9 and 19.90 are one number.
    equals: (one, other) => one === other || scaledDecimal(one) === scaledDecimal(other),
    input: "number",
  };
}

/**
 * A value of any shape, as its JSON text without insignificant white space.
 *
 * @param taken leaves out what clients cannot set.
 */
export function json(expected = "a value", taken?: JsonFilter): FieldType<string> {
  const stored = (sent: string) =>
    taken === undefined ? compactJson(sent) : filterJson(compactJson(sent), taken);
  return {
    ...textual,
    kind: "json",
    expected,
    fromJson: (_, sent) => stored(sent()),
    toJson: (value) => value,
    isPlain: false,
    parse(sent) {
      try {
        JSON.parse(sent);
        return stored(sent);
      } catch {
        // It is not JSON, or it is nested too deeply.
        return undefined;
      }
    },
    unstorable: nothing,
    input: "json",
  };
}

/** Another type, or null, which is kept apart from a field that was not sent: as JSON in a text. */
export function nullable(type: FieldType): FieldType {
  const toJson = (value: FieldValue) => (value === null ? "null" : type.toJson(value));
  const fromJson: FieldType["fromJson"] = (value, sent, isExact) =>
    value === null ? null : type.fromJson(value, sent, isExact);
  // A cell with the word is null; the text of that word has double quotes.
  const quoted = /^(?:null|".*")$/s;
  const parse = (value: string) => {
    if (value === "null") return null;
    return type.parse(quoted.test(value) && type.kind === "text" ? JSON.parse(value) : value);
  };
  const format = (value: FieldValue) => {
    if (value === null) return "null";
    const written = type.format(value);
    return quoted.test(written) && type.kind === "text" ? JSON.stringify(written) : written;
  };
  return {
    kind: `${type.kind} or null`,
    expected: `${type.expected} or null`,
    fromJson,
    toJson,
    isPlain: type.isPlain,
    parse(value) {
      try {
        return parse(value);
      } catch {
        return undefined;
      }
    },
    format,
    equals: (one, other) => (one === null || other === null ? one === other : type.equals(one, other)),
    size: (value) => format(value).length,
    unstorable: (value) => (value === null ? undefined : type.unstorable(value)),
    column: textual.column,
    toColumn: toJson,
    fromColumn(value) {
      const sent = String(value);
      return fromJson(JSON.parse(sent), () => sent) as FieldValue;
    },
    input: typeof type.input === "string" && type.input !== "boolean" ? type.input : "text",
  };
}

/** A type of which a schema accepts only some values. */
export function restricted(type: FieldType, check: SchemaCheck): FieldType {
  const isAccepted = (value: FieldValue, work: Work) =>
    check.fault(exactValue(type, value), work) === undefined;
  const faultOf = (value: unknown) => {
    const fault = check.fault(value, new Work());
    if (fault === undefined) return undefined;
    // The message names the type, and what the whole schema accepts.
    const isSaid = ["an object", "an array", check.expected].includes(fault.expected);
    return fault.path.length === 0 && (isSaid || !isParent(value)) ? undefined : describeFault(fault);
  };
  return {
    ...type,
    expected: check.expected,
    fromJson(value, sent, isExact, work = new Work()) {
      const stored = type.fromJson(value, sent, isExact);
      return stored !== undefined && isAccepted(stored, work) ? stored : undefined;
    },
    fault: (sent) => withinLimits(() => faultOf(parseExactJson(sent))),
    parse(sent) {
      const stored = type.parse(sent);
      const isFit = stored !== undefined && withinLimits(() => isAccepted(stored, new Work()));
      return isFit === true ? stored : undefined;
    },
  };
}

function isParent(value: unknown): boolean {
  return Array.isArray(value) || isObject(value);
}

/** The result of a check; undefined if it takes too much work, or the value is nested too deeply. */
function withinLimits<Result>(check: () => Result): Result | undefined {
  try {
    return check();
  } catch (error) {
    if (excessOf(error) !== undefined) return undefined;
    throw error;
  }
}

/** A value as parseExactJson returns it. */
function exactValue({ kind, toJson }: FieldType, value: FieldValue): unknown {
  if (value === null || typeof value === "boolean") return value;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  const [name] = kind.split(" ");
  if (name === "text") return value;
  return name === "json" ? parseExactJson(toJson(value)) : exactNumber(toJson(value));
}

/** The type of a kind, which accepts every value of it: for values that were validated before. */
export function typeOfKind(kind: string): FieldType {
  const base = /^(.*) or null$/.exec(kind)?.[1];
  if (base !== undefined) return nullable(typeOfKind(base));
  const [name, digits] = kind.split(" ");
  if (name === "boolean") return boolean();
  if (name === "integer") return integer();
  if (name === "decimal") return decimal(digits === undefined ? undefined : Number(digits), "a number");
  return name === "json" ? json("JSON") : text();
}

/** Whether every engine stores a text exactly: none has U+0000 or unpaired surrogates. */
export function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes("\0");
}

function findUnstorable(value: string): string | undefined {
  if (isStorable(value)) return undefined;
  const index = value.search(/\0|\p{Surrogate}/u);
  const codeUnit = value.charCodeAt(index).toString(16).toUpperCase().padStart(4, "0");
  const character = codeUnit === "0000" ? "U+0000" : `the unpaired surrogate U+${codeUnit}`;
  return `holds ${character} at index ${index}`;
}

/**
 * Removes the insignificant white space of JSON (RFC 8259, section 2), and changes nothing else.
 *
 * @param text valid JSON. A megabyte takes 5 ms.
 */
export function compactJson(text: string): string {
  let compact = "";
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const codeUnit = text.charCodeAt(at);
    if (codeUnit === 0x22) at = stringEnd(text, at);
    else if (codeUnit <= 0x20) {
      compact += text.slice(start, at);
      start = at + 1;
    }
  }
  return start === 0 ? text : compact + text.slice(start);
}

/** The index of the quote that ends the string at `start`. */
function stringEnd(text: string, start: number): number {
  let end = text.indexOf('"', start + 1);
  for (;;) {
    let backslashes = 0;
    while (text.charCodeAt(end - 1 - backslashes) === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return end;
    end = text.indexOf('"', end + 1);
  }
}
