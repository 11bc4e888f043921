// Writes the SQL of the JSON of plants: a list of 100 takes two thirds of the processor time of one whose
// JSON is written from its columns here. What SQL cannot write is left to responseJson, whose JSON this is
// to the byte.

import {
  type Collection,
  type Field,
  type Representation,
  representationOf,
  type Shown,
} from "../../contract/contract.ts";
import type { SqlConnection } from "../sql-connection.ts";
import { forCollection } from "./sql-work.ts";

type Dialect = SqlConnection["dialect"];

const inLists = {
  sqlite: forCollection((each) => plantJsonSql("sqlite", each, representationOf(each, "list"))),
  postgres: forCollection((each) => plantJsonSql("postgres", each, representationOf(each, "list"))),
};

/** The SQL of the JSON that a plant has in lists; undefined where SQL cannot write it. */
export function listedJsonSql(dialect: Dialect, collection: Collection): string | undefined {
  return inLists[dialect](collection);
}

/** The SQL of a plant's JSON in a response; undefined where that takes more than its columns. */
export function plantJsonSql(
  dialect: Dialect,
  { id, fields }: Collection,
  response: Representation,
): string | undefined {
  const { hasId, absent, createdName, updatedName, urlName, constants, wrapper } = response;
  if ((createdName ?? updatedName ?? urlName) !== undefined) return undefined;
  const members: string[] = [];
  for (const [index, field] of fields.entries()) {
    const member = memberSql(dialect, field, response.fields[index] ?? true, absent?.[index]);
    if (member === undefined) return undefined;
    members.push(member);
  }
  members.push(literal(constants.map((constant) => `,${constant}`).join("")));
  const [before, after] = wrapper ?? ["", ""];
  // Each of the members has a comma before it.
  const others = joined(members);
  const all = hasId
    ? `${literal(`${before}{${id.jsonName}`)} || ${valueSql(dialect, "id", id)} || ${others}`
    : `${literal(`${before}{`)} || substr(${others}, 2)`;
  return `${all} || ${literal(`}${after}`)}`;
}

/** A member of the JSON, or an empty text; undefined for one that takes more than its column. */
function memberSql(
  dialect: Dialect,
  field: Field,
  shown: Shown,
  absent: string | undefined,
): string | undefined {
  const { column, jsonName, isOthers } = field;
  if (shown === false) return "''";
  if (shown !== true || isOthers) return undefined;
  const none = absent === undefined ? "" : `,${jsonName}${absent}`;
  return `coalesce(${literal(`,${jsonName}`)} || ${valueSql(dialect, column, field)}, ${literal(none)})`;
}

/** The JSON of a value. What may be null, decimals, arrays and objects are stored as JSON. */
function valueSql(dialect: Dialect, column: string, { type: { kind } }: Pick<Field, "type">): string {
  if (kind.isNullable || kind.name === "decimal" || kind.name === "json") return column;
  if (dialect === "postgres") return kind.name === "text" ? `to_json(${column})::text` : `${column}::text`;
  // json_quote makes a text of NULL.
  if (kind.name === "text") return `iif(${column} IS NULL, NULL, json_quote(${column}))`;
  return kind.name === "boolean" ? `iif(${column} IS NULL, NULL, iif(${column}, 'true', 'false'))` : column;
}

/** Each operator copies what is before it: a plant may have 1,000 members. */
const joinedMax = 32;

function joined(texts: readonly string[]): string {
  if (texts.length <= joinedMax) return texts.join(" || ");
  const parts = Array.from({ length: Math.ceil(texts.length / joinedMax) }, (_, part) =>
    joined(texts.slice(part * joinedMax, (part + 1) * joinedMax)),
  );
  return joined(parts.map((part) => `(${part})`));
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
