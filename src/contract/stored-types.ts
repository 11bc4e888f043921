// Defines the types of fields: how their values are stored and compared. A schema may accept fewer:
// see `restricted`.

import { decimalText, scaledDecimal } from "../json/decimal.ts";
import { exactNumber, parseSentJson } from "../json/exact-json.ts";
import { parseInt64, toInt64 } from "../json/int64.ts";
import { filterJson, type JsonFilter } from "../json/json-filter.ts";
import { endOfString } from "../json/json-scanner.ts";
import { sentDigits } from "../json/json-values.ts";
import { type SentValue, sentText } from "../json/sent-json.ts";
import { assertReadable, orExcess, type SchemaCheck, Work } from "./schema-check.ts";

/** A value of any type of field. A decimal number and an array or object are their JSON text. */
export type FieldValue = string | number | bigint | boolean | null;

/** A value as the column of an engine has it. */
export type ColumnValue = string | number | bigint | boolean | null;

/** The kind of values in a column. */
export interface Kind {
  readonly name: "text" | "boolean" | "integer" | "decimal" | "json";
  /** The digits after the point of all its decimals, where they are padded. */
  readonly fractionDigits?: number | undefined;
  /** Whether it holds null as well, and therefore JSON in a text. */
  readonly isNullable?: boolean | undefined;
}

/** Whether one column may hold the values of both. */
export function isSameKind(one: Kind, other: Kind): boolean {
  return (
    one.name === other.name &&
    one.fractionDigits === other.fractionDigits &&
    (one.isNullable ?? false) === (other.isNullable ?? false)
  );
}

/** Whether all values are texts, and none null. */
export function isText({ kind }: Pick<FieldType, "kind">): boolean {
  return kind.name === "text" && kind.isNullable !== true;
}

/**
 * The operations on the values of a type. `undefined` stands for a value that is not of the type.
 */
export interface FieldType<Value extends FieldValue = FieldValue> {
  /** A column holds one kind, while limits may change. */
  readonly kind: Kind;
  /** The type in messages, such as "a string". */
  readonly expected: string;
  /** Takes a value of its kind, whatever its limits; see fromJson. */
  convert(sent: SentValue): Value | undefined;
  /** Whether `convert` leaves out what clients cannot set. */
  readonly isFiltered?: boolean;
  /** The limits of its values; undefined for none. */
  readonly check?: SchemaCheck | undefined;
  /** A value as JSON has it, with exact numbers. */
  toExact(value: Value): unknown;
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
  toExact: (value: string): unknown => value,
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
  const convert = ({ value }: SentValue) => (typeof value === "string" ? value : undefined);
  return { ...textual, kind: { name: "text" }, expected, convert, parse: (value) => value };
}

/** One of some texts. */
export function oneOf(values: readonly string[]): FieldType<string> {
  return { ...text(), input: values };
}

export function boolean(): FieldType<boolean> {
  return {
    ...scalar,
    kind: { name: "boolean" },
    expected: "a boolean",
    convert: ({ value }) => (typeof value === "boolean" ? value : undefined),
    toExact: (value) => value,
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
    kind: { name: "integer" },
    expected,
    convert(sent) {
      const { value } = sent;
      if (typeof value === "number") return toInt64(sent.exact());
      return isSentAsText && typeof value === "string" ? parseInt64(value) : undefined;
    },
    toExact: (value) => (Number.isSafeInteger(Number(value)) ? Number(value) : value),
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
    kind: { name: "decimal", fractionDigits },
    expected,
    convert: (sent) => (typeof sent.value === "number" ? parse(sentDigits(sent.exact())) : undefined),
    toJson: (value) => value,
    toExact: exactNumber,
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
    kind: { name: "json" },
    expected,
    isFiltered: taken !== undefined,
    convert: (sent) => stored(sent.text()),
    toJson: (value) => value,
    toExact: (value) => parseSentJson(value),
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
  const convert = (sent: SentValue) => (sent.value === null ? null : type.convert(sent));
  const isText = type.kind.name === "text";
  // A cell with the word is null; the text of that word has double quotes.
  const quoted = /^(?:null|".*")$/s;
  const parse = (value: string) => {
    if (value === "null") return null;
    return type.parse(isText && quoted.test(value) ? JSON.parse(value) : value);
  };
  const format = (value: FieldValue) => {
    if (value === null) return "null";
    const written = type.format(value);
    return isText && quoted.test(written) ? JSON.stringify(written) : written;
  };
  return {
    kind: { ...type.kind, isNullable: true },
    expected: `${type.expected} or null`,
    convert,
    toJson,
    toExact: (value) => (value === null ? null : type.toExact(value)),
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
    fromColumn: (value) => convert(sentText(String(value))) as FieldValue,
    input: typeof type.input === "string" && type.input !== "boolean" ? type.input : "text",
  };
}

/** A type of which a schema accepts only some values. */
export function restricted(type: FieldType, check: SchemaCheck): FieldType {
  return {
    ...type,
    expected: check.expected,
    check,
    parse(sent) {
      const value = type.parse(sent);
      const accepts = () => check.fault(type.toExact(value as FieldValue), new Work()) === undefined;
      return value !== undefined && withinLimits(accepts) === true ? value : undefined;
    },
  };
}

/** Takes a value that a type accepts; undefined for another. */
export function fromJson<Value extends FieldValue>(
  type: FieldType<Value>,
  sent: SentValue,
): Value | undefined {
  return convert(type, sent, new Work(), true);
}

/**
 * Takes a value of a type; undefined for another.
 *
 * @param work what its check may take. Throws WorkExceeded.
 * @param isChecked whether it is checked; the whole body may be.
 */
export function convert<Value extends FieldValue>(
  type: FieldType<Value>,
  sent: SentValue,
  work: Work,
  isChecked: boolean,
): Value | undefined {
  const value = type.convert(sent);
  if (value === undefined || type.check === undefined) return value;
  const isSentAsText = typeof value === "bigint" && typeof sent.value === "string";
  if (!isChecked && !isSentAsText) return value;
  if (type.kind.name === "json") assertReadable(sent.text());
  const exact = isSentAsText || type.isFiltered ? type.toExact(value) : sent.exact();
  return type.check.fault(exact, work) === undefined ? value : undefined;
}

/** The result of a check; undefined if it takes too much work, or the value is nested too deeply. */
export function withinLimits<Result>(check: () => Result): Result | undefined {
  const result = orExcess(check);
  return typeof result === "string" ? undefined : result;
}

/** The type of a kind, which accepts every value of it: for values that were validated before. */
export function typeOfKind({ isNullable, ...kind }: Kind): FieldType {
  if (isNullable) return nullable(typeOfKind(kind));
  if (kind.name === "boolean") return boolean();
  if (kind.name === "integer") return integer();
  if (kind.name === "decimal") return decimal(kind.fractionDigits, "a number");
  return kind.name === "json" ? json("JSON") : text();
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
 * @param text valid JSON.
 */
export function compactJson(text: string): string {
  let compact = "";
  let start = 0;
  for (let at = 0; at < text.length; at++) {
    const codeUnit = text.charCodeAt(at);
    if (codeUnit === 0x22) at = endOfString(text, at) - 1;
    else if (codeUnit <= 0x20) {
      compact += text.slice(start, at);
      start = at + 1;
    }
  }
  return start === 0 ? text : compact + text.slice(start);
}
