// Writes the SQL of the values that lists are compared by: exact for decimals of any length and for
// times with any offset, also of texts that no function of an engine compares.

import type { Collection, Field } from "../../contract/contract.ts";
import type { ListKey } from "../../contract/list-order.ts";
import { isStorable, typeOfKind } from "../../contract/stored-types.ts";
import { parseInt64 } from "../../json/int64.ts";
import type { SqlConnection, SqlValue } from "../sql-connection.ts";
import { versionSql } from "./plant-rows.ts";

type Dialect = SqlConnection["dialect"];

/** A value of a row that is compared. */
export interface SortKey {
  /** The value as it is stored. */
  readonly column: string;
  /** The SQL of what is compared, of the column, or of a parameter like it. */
  of(stored: string): string;
  /** The type of such a parameter in PostgreSQL. */
  readonly type: string;
  readonly isNullable: boolean;
  /** The stored value of null, besides that of the column; undefined for none. */
  readonly nullText?: string;
  /** A stored value, from its text; undefined for a text that no value has. */
  parse(text: string): SqlValue | undefined;
  /** The condition that what is compared has a value: a range of an index. */
  isPresent(compared: string): string;
  /** The whole value, where what is compared is its beginning. */
  whole?(stored: string): string;
}

/** PostgreSQL's index has no room for more than 2,704 bytes. */
const comparedMax = 500;

/** Returns the same SQL for a key each time: an index of it is used only for an equal expression. */
export function sortKey({ id, fields }: Collection, key: ListKey, dialect: Dialect): SortKey {
  const isPresent = (compared: string) => `${compared} ${dialect === "postgres" ? "IS NOT NULL" : ">= ''"}`;
  const int8 = {
    of: (stored: string) => stored,
    type: "bigint",
    isNullable: false,
    parse: parseInt64,
    // SQLite finds what is null first where it is asked for what is not.
    isPresent: (compared: string) =>
      dialect === "postgres" ? isPresent(compared) : `${compared} >= -9223372036854775808`,
  };
  if (key === "created") return { ...int8, column: "created_at" };
  if (key === "updated") return { ...int8, column: `(${versionSql} >> 20)` };
  if (key === "id") {
    const isInteger = id.type.kind.name === "integer";
    return isInteger ? { ...int8, column: "id" } : { ...int8, column: "id", type: "text", parse: storedText };
  }
  const { column, isRequired, schema, type } = fields[key] as Field;
  const { name: base, isNullable: isNull = false } = type.kind;
  const isNullable = isNull || !isRequired;
  if (!isNull && (base === "integer" || base === "boolean")) {
    // SQLite has 1.
    const parse = base === "integer" ? parseInt64 : (text: string) => text === "true" || text === "1";
    return { ...int8, type: base === "integer" ? "bigint" : base, column, isNullable, parse };
  }
  const isTime = base === "text" && schema.format === "date-time";
  const nullable = (stored: string) => (isNull ? `nullif(${stored}, 'null')` : stored);
  const textOf = (stored: string) => {
    if (dialect === "sqlite") return isNull ? `(${nullable(stored)} ->> '$')` : stored;
    return `(${isNull ? `((${nullable(stored)})::jsonb #>> '{}')` : stored} COLLATE "C")`;
  };
  const isShort =
    base !== "text" ||
    isTime ||
    Array.isArray(schema.enum) ||
    (typeof schema.maxLength === "number" && schema.maxLength <= comparedMax);
  return {
    column,
    isNullable,
    type: "text",
    ...(isNull && { nullText: "null" }),
    parse(text) {
      const plain = typeOfKind(type.kind);
      const value = plain.parse(text);
      const isStored = value !== undefined && plain.unstorable(value) === undefined;
      return isStored ? (plain.toColumn(value) as SqlValue) : undefined;
    },
    isPresent: base === "integer" || base === "boolean" ? int8.isPresent : isPresent,
    ...(!isShort && { whole: textOf }),
    of(stored) {
      // With null a value is stored as its JSON.
      const value = nullable(stored);
      if (base === "integer") return `CAST(${value} AS ${dialect === "sqlite" ? "integer" : "bigint"})`;
      if (base === "boolean") return `(${value} = 'true')`;
      if (base === "decimal") return dialect === "sqlite" ? decimalKey(value) : `(${value})::numeric`;
      if (isTime) return instantKey(isNull ? `trim(${value}, '"')` : value, dialect);
      return isShort ? textOf(stored) : `substr(${textOf(stored)}, 1, ${comparedMax})`;
    },
  };
}

function storedText(text: string): string | undefined {
  return isStorable(text) ? text : undefined;
}

/**
 * A text that is ordered as a decimal number is: a sign, 38 digits and those after the point. For a
 * negative number a greater digit is a smaller letter, and what is longer comes first.
 */
function decimalKey(number: string): string {
  const point = (digits: string) => `instr(${digits} || '.', '.')`;
  const digits = (text: string) =>
    `substr('${"0".repeat(38)}' || substr(${text}, 1, ${point(text)} - 1), -38) || rtrim(substr(${text}, ${point(text)} + 1), '0')`;
  let letters = digits(`substr(${number}, 2)`);
  for (let digit = 0; digit < 10; digit++)
    letters = `replace(${letters}, '${digit}', '${"jihgfedcba"[digit]}')`;
  // Zero is stored without a sign.
  return `CASE WHEN substr(${number}, 1, 1) <> '-' THEN '1' || ${digits(number)} ELSE '0' || ${letters} || '~' END`;
}

/** A text that is ordered as the instants of RFC 3339 are: seconds of UTC, and the first digits below. */
function instantKey(time: string, dialect: Dialect): string {
  const number = (from: number | string, length: number) =>
    `CAST(substr(${time}, ${from}, ${length}) AS ${dialect === "sqlite" ? "integer" : "bigint"})`;
  // January and February are those of the year before, and no year is negative.
  const month = `((${number(6, 2)} + 9) % 12)`;
  const year = `(${number(1, 4)} + 400 - ${month} / 10)`;
  const day = `(365 * ${year} + ${year} / 4 - ${year} / 100 + ${year} / 400 + (153 * ${month} + 2) / 5 + ${number(9, 2)})`;
  const zone = (from: number) => `length(${time}) - ${from}`;
  const isUtc = `lower(substr(${time}, ${zone(0)}, 1)) = 'z'`;
  const offset = `CASE WHEN ${isUtc} THEN 0 ELSE (${number(zone(4), 2)} * 60 + ${number(zone(1), 2)}) * CASE WHEN substr(${time}, ${zone(5)}, 1) = '-' THEN -1 ELSE 1 END END`;
  const seconds = `((${day} * 24 + ${number(12, 2)}) * 60 + ${number(15, 2)} - ${offset}) * 60 + ${number(18, 2)}`;
  const least = dialect === "sqlite" ? "min" : "least";
  const fraction = `CASE WHEN substr(${time}, 20, 1) = '.' THEN rtrim(substr(${time}, 21, ${least}(${comparedMax}, length(${time}) - CASE WHEN ${isUtc} THEN 21 ELSE 26 END)), '0') ELSE '' END`;
  return dialect === "sqlite"
    ? `CASE WHEN ${time} IS NOT NULL THEN printf('%012d', ${seconds}) || ${fraction} END`
    : // A text that is no time must not fail the statement that stores it.
      `((CASE WHEN ${time} ~ '^\\d{4}-\\d\\d-\\d\\d[Tt ]\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?([Zz]|[+-]\\d\\d:\\d\\d)$'
         THEN lpad((${seconds})::text, 12, '0') || ${fraction} END) COLLATE "C")`.replaceAll(/\s+/g, " ");
}
