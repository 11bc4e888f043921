// Writes the SQL that finds words in the texts of plants, wherever they are and without regard to
// case, as the console's search and lists do.

import type { Collection, Field } from "../../contract/contract.ts";
import type { SqlConnection } from "../sql-connection.ts";
import type { Bind } from "./page-order.ts";

type Dialect = SqlConnection["dialect"];

/** The fields whose columns are texts. */
export function searchedFields({ fields }: Collection): Field[] {
  return fields.filter(({ type }) => type.column.sqlite === "TEXT");
}

/**
 * The condition that a word is part of one of some fields.
 *
 * @param hasId whether it may also be part of an id that is a text.
 */
export function containsSql(
  { id }: Collection,
  { fields, hasId }: { readonly fields: readonly Field[]; readonly hasId: boolean },
  word: string,
  dialect: Dialect,
  bind: Bind,
): string {
  const pattern = bind(`%${word.replaceAll(/[\\%_]/g, "\\$&")}%`);
  // On SQLite LIKE folds the case of ASCII letters.
  const like = dialect === "postgres" ? "ILIKE" : "LIKE";
  const contains = (text: string) => `${text} ${like} ${pattern} ESCAPE '\\'`;
  const searched = fields.map((field) =>
    field.type.kind.name === "json"
      ? jsonCondition(field, word, dialect, contains, bind)
      : contains(valueText(field, dialect)),
  );
  if (hasId && id.type.kind.name !== "integer") searched.unshift(contains("id"));
  return searched.length === 0 ? "1 = 0" : `(${searched.join(" OR ")})`;
}

/** The text of a value; NULL for null. A text that may be null is stored as JSON. */
function valueText({ column, type }: Field, dialect: Dialect): string {
  if (type.kind.isNullable !== true) return column;
  if (type.kind.name !== "text") return `NULLIF(${column}, 'null')`;
  return dialect === "postgres" ? `(${column}::jsonb #>> '{}')` : `${column} ->> '$'`;
}

/**
 * Whether JSON contains a word, however its characters are escaped. PostgreSQL's jsonb would refuse
 * some of what is stored, such as \u0000.
 */
function jsonCondition(
  { column }: Field,
  word: string,
  dialect: Dialect,
  contains: (text: string) => string,
  bind: Bind,
): string {
  const backslash = dialect === "postgres" ? `strpos(${column}, '\\')` : `instr(${column}, '\\')`;
  const isEscaped =
    dialect === "postgres" ? `${backslash} > 0` : `${backslash} > 0 AND json_valid(${column})`;
  const meant =
    dialect === "postgres"
      ? `${column} ~* ${bind(jsonPattern(word))}`
      : `EXISTS (SELECT 1 FROM json_tree(${column}) WHERE ${contains("key")} OR ${contains("atom")})`;
  // Without a backslash the text is what it means, and its quotes are those of JSON.
  const plain = `${contains(column)} AND 1 = ${word.includes('"') ? 0 : 1}`;
  return `CASE WHEN ${column} = 'null' THEN 1 = 0 WHEN ${isEscaped} THEN ${meant} ELSE ${plain} END`;
}

const shortEscapes: Readonly<Record<string, string>> = {
  "\b": "b",
  "\f": "f",
  "\n": "n",
  "\r": "r",
  "\t": "t",
};

/** The regular expression of PostgreSQL for JSON that contains a word, and not within an escape. */
function jsonPattern(word: string): string {
  const characters = Array.from(word, (character) => {
    const cases = new Set([character, character.toLowerCase(), character.toUpperCase()]);
    const written = [...cases].flatMap((each) => [
      each
        .split("")
        .map((unit) => `\\\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
        .join(""),
      ...(/["\\]/.test(each) ? [] : [each.replaceAll(/[$()*+.?[\]^{|}]/g, "\\$&")]),
    ]);
    if (/["\\/]/.test(character)) written.push(`\\\\${character === "\\" ? "\\\\" : character}`);
    const short = shortEscapes[character];
    if (short !== undefined) written.push(`\\\\${short}`);
    return `(?:${written.join("|")})`;
  });
  return `^(?:[^\\\\]|\\\\u[0-9a-f]{4}|\\\\[^u])*${characters.join("")}`;
}
