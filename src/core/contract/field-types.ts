// The types of fields. Everything that differs between types is in this file, so a new type is one
// more function at its end.

import { parseInt64, parseJsonInt64 } from "./int64.ts";

// https://github.com/tc39/proposal-json-parse-with-source
declare global {
  interface JSON {
    /** A value that JSON.stringify writes as this text. */
    rawJSON(text: string): object;
    isRawJSON(value: unknown): boolean;
  }
}

/** A value as the column of an engine has it. */
export type ColumnValue = string | number | bigint | boolean | null;

/** The operations on the values of a type. `undefined` stands for a value that is not of the type. */
export interface FieldType<Value> {
  /** The schema of OpenAPI, without description and examples. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** The type in messages, such as "a string". */
  readonly expected: string;
  /**
   * Takes a value of JSON.parse.
   *
   * @param digits the exact text of a number, which may have lost digits in `value`.
   */
  fromJson(value: unknown, digits: () => string): Value | undefined;
  /** The value for JSON.stringify. */
  toJson(value: Value): unknown;
  /** Parses a cell of CSV, an argument or an input of the console. */
  parse(text: string): Value | undefined;
  /** The text that `parse` takes. */
  format(value: Value): string;
  equals(one: Value, other: Value): boolean;
  /** UTF-16 code units of the text, at most. */
  size(value: Value): number;
  /** Why no engine can store a value exactly, such as "holds U+0000 at index 5". */
  unstorable(value: Value): string | undefined;
  /** The type of the column in each engine. */
  readonly column: { readonly sqlite: string; readonly postgres: string };
  toColumn(value: Value): Exclude<ColumnValue, null>;
  /** Takes a column of either engine, or its text in PostgreSQL's COPY. */
  fromColumn(value: Exclude<ColumnValue, null>): Value;
  /** How the console edits a value: as text, as a number, by a switch, or as one of some texts. */
  readonly input: "text" | "number" | "boolean" | readonly string[];
}

const isSame = (one: unknown, other: unknown) => one === other;
const nothing = () => undefined;

/** Defaults of types whose values are texts in every engine. */
const textual = {
  toJson: (value: string): unknown => value,
  format: (value: string) => value,
  equals: isSame,
  size: (value: string) => value.length,
  unstorable: findUnstorable,
  column: { sqlite: "TEXT", postgres: "text" },
  toColumn: (value: string) => value,
  fromColumn: String,
  input: "text",
} as const;

/** Any text, or one of at most `maxLength` characters (code points, as in JSON Schema). */
export function text({ maxLength }: { readonly maxLength?: number } = {}): FieldType<string> {
  const isValid = (value: unknown): value is string =>
    typeof value === "string" &&
    (maxLength === undefined || value.length <= maxLength || [...value].length <= maxLength);
  return {
    ...textual,
    schema: { type: "string", pattern: "^[^\\x00]*$", ...(maxLength !== undefined && { maxLength }) },
    expected: maxLength === undefined ? "a string" : `a string of at most ${maxLength} characters`,
    fromJson: (value) => (isValid(value) ? value : undefined),
    parse: (value) => (isValid(value) ? value : undefined),
  };
}

/** One of some texts. */
export function oneOf<const Value extends string>(...values: readonly Value[]): FieldType<Value> {
  const find = (value: unknown) => values.find((each) => each === value);
  return {
    ...textual,
    schema: { type: "string", enum: values },
    expected: `one of ${values.map((value) => JSON.stringify(value)).join(", ")}`,
    fromJson: find,
    parse: find,
    fromColumn: (value) => String(value) as Value,
    input: values,
  };
}

/** RFC 3339, section 5.6. The offset is required. */
const dateTimePattern =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** A date and time of RFC 3339, kept as it was sent. */
export function dateTime(): FieldType<string> {
  const check = (value: unknown) => {
    const [, year, month, day] = (typeof value === "string" && dateTimePattern.exec(value)) || [];
    const daysMax = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
    return Number(day) <= daysMax ? (value as string) : undefined;
  };
  return {
    ...textual,
    schema: { type: "string", format: "date-time" },
    expected: "a date and time such as 2026-11-24T12:00:00Z",
    fromJson: check,
    parse: check,
  };
}

export function boolean(): FieldType<boolean> {
  return {
    schema: { type: "boolean" },
    expected: "a boolean",
    fromJson: (value) => (typeof value === "boolean" ? value : undefined),
    toJson: (value) => value,
    parse: (value) => (/^(?:true|false)$/i.test(value) ? /^t/i.test(value) : undefined),
    format: String,
    equals: isSame,
    size: () => 5,
    unstorable: nothing,
    column: { sqlite: "INTEGER", postgres: "boolean" },
    toColumn: (value) => value,
    // SQLite has 1, and PostgreSQL's COPY has t.
    fromColumn: (value) => value === true || value === 1n || value === 1 || value === "t",
    input: "boolean",
  };
}

export function int32(): FieldType<number> {
  const check = (value: bigint | undefined) =>
    value !== undefined && BigInt.asIntN(32, value) === value ? Number(value) : undefined;
  return {
    schema: { type: "integer", format: "int32" },
    expected: "an integer (int32)",
    fromJson: (value, digits) => check(exactInteger(value, digits)),
    toJson: (value) => value,
    parse: (value) => check(parseInt64(value)),
    format: String,
    equals: isSame,
    size: () => 11,
    unstorable: nothing,
    column: { sqlite: "INTEGER", postgres: "integer" },
    toColumn: (value) => value,
    fromColumn: Number,
    input: "number",
  };
}

/** Exact to the last digit. */
export function int64(): FieldType<bigint> {
  return {
    schema: { type: "integer", format: "int64" },
    expected: "an integer (int64)",
    fromJson: exactInteger,
    toJson: (value) => JSON.rawJSON(String(value)),
    parse: parseInt64,
    format: String,
    equals: isSame,
    size: () => 20,
    unstorable: nothing,
    column: { sqlite: "INTEGER", postgres: "bigint" },
    toColumn: (value) => value,
    fromColumn: (value) => BigInt(value),
    input: "number",
  };
}

/** Digits of a decimal number in all, as PostgreSQL's numeric has them. */
const decimalDigitsMax = 38;

/** A decimal number with a fixed number of digits after the point, exact: 19.9 is 19.90. */
export function decimal(fractionDigits: number): FieldType<string> {
  const normalize = (value: string) => {
    const [, sign, whole = "", fraction = "", exponent = "0"] =
      /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,3}))?$/.exec(value) ?? [];
    if (sign === undefined) return undefined;
    // The digits of the value times ten to the power of fractionDigits.
    const shift = Number(exponent) - fraction.length + fractionDigits;
    const digits = (whole + fraction).replace(/^0+/, "");
    const cut = shift < 0 ? digits.slice(shift) : "";
    if (/[1-9]/.test(cut)) return undefined;
    const scaled = shift < 0 ? digits.slice(0, shift) : digits === "" ? "" : digits + "0".repeat(shift);
    if (scaled.length > decimalDigitsMax) return undefined;
    const padded = scaled.padStart(fractionDigits + 1, "0");
    const at = padded.length - fractionDigits;
    const number = fractionDigits === 0 ? padded : `${padded.slice(0, at)}.${padded.slice(at)}`;
    return /[1-9]/.test(number) ? sign + number : number;
  };
  return {
    ...textual,
    schema: { type: "number", multipleOf: Number(`1e-${fractionDigits}`) },
    expected: `a number with at most ${fractionDigits} digits after the point`,
    fromJson: (value, digits) => (typeof value === "number" ? normalize(digits()) : undefined),
    toJson: (value) => JSON.rawJSON(value),
    parse: normalize,
    column: { sqlite: "TEXT", postgres: `numeric(${decimalDigitsMax}, ${fractionDigits})` },
    input: "number",
  };
}

/** An array of texts, as JSON in every engine. */
export function texts(): FieldType<readonly string[]> {
  const check = (value: unknown) =>
    Array.isArray(value) && value.every((item) => typeof item === "string") ? value : undefined;
  const parse = (value: string) => {
    try {
      return check(JSON.parse(value));
    } catch {
      // It is not JSON.
      return undefined;
    }
  };
  const format = (value: readonly string[]) => JSON.stringify(value);
  return {
    schema: { type: "array", items: { type: "string", pattern: "^[^\\x00]*$" } },
    expected: "an array of strings",
    fromJson: check,
    toJson: (value) => value,
    parse,
    format,
    equals: (one, other) => one.length === other.length && one.every((item, index) => item === other[index]),
    size: (value) => format(value).length,
    unstorable: (value) => value.map(findUnstorable).find((reason) => reason !== undefined),
    column: { sqlite: "TEXT", postgres: "text" },
    toColumn: format,
    fromColumn: (value) => JSON.parse(String(value)) as readonly string[],
    input: "text",
  };
}

/** A safe integer is exact; of another number the digits count. */
function exactInteger(value: unknown, digits: () => string): bigint | undefined {
  if (typeof value !== "number") return undefined;
  return parseJsonInt64(digits());
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
