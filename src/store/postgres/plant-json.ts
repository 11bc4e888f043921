// Writes the SQL of the JSON of plants: PostgreSQL sends a page as one text, which is passed on as
// it is. What SQL cannot write is left to responseJson, whose JSON this is to the byte.

import type { Collection, Field, Representation, Shown } from "../../contract/contract.ts";

/** The SQL of a plant's JSON in a response; undefined where that takes more than its columns. */
export function plantJsonSql({ id, fields }: Collection, response: Representation): string | undefined {
  const { hasId, absent, createdName, updatedName, urlName, constants, wrapper } = response;
  if ((createdName ?? updatedName ?? urlName) !== undefined) return undefined;
  const members: string[] = [];
  for (const [index, field] of fields.entries()) {
    const member = memberSql(field, response.fields[index] ?? true, absent?.[index]);
    if (member === undefined) return undefined;
    members.push(member);
  }
  members.push(literal(constants.map((constant) => `,${constant}`).join("")));
  const [before, after] = wrapper ?? ["", ""];
  // Each of the members has a comma before it.
  const others = joined(members);
  const all = hasId
    ? `${literal(`${before}{${id.jsonName}`)} || ${valueSql("id", id)} || ${others}`
    : `${literal(`${before}{`)} || substr(${others}, 2)`;
  return `${all} || ${literal(`}${after}`)}`;
}

/** A member of the JSON, or an empty text; undefined for one that takes more than its column. */
function memberSql(field: Field, shown: Shown, absent: string | undefined): string | undefined {
  const { column, jsonName, type, isOthers } = field;
  if (shown === false) return "''";
  // A value of any shape that may be null leaves out what is not accepted any more.
  if (shown !== true || isOthers || (type.kind.isNullable && type.kind.name === "json")) return undefined;
  const none = absent === undefined ? "" : `,${jsonName}${absent}`;
  return `coalesce(${literal(`,${jsonName}`)} || ${valueSql(column, field)}, ${literal(none)})`;
}

/** The JSON of a value. What may be null, decimals, arrays and objects are stored as JSON. */
function valueSql(column: string, { type: { kind } }: Pick<Field, "type">): string {
  if (kind.isNullable || kind.name === "decimal" || kind.name === "json") return column;
  return kind.name === "text" ? `to_json(${column})::text` : `${column}::text`;
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
