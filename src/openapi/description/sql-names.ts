// Chooses the names of tables and columns. Names of collections and fields are the author's: of any
// characters and length, equal but for case, or those of our own tables and columns or of the engines'.

import type { Field } from "../../contract/contract.ts";

/** Lower-case names that both engines have as they are; PostgreSQL keeps 63 bytes. */
const plain = /^[a-z][a-z0-9_]{0,55}$/;
/** Columns that every table of the store has: ours, those of SQLite, and those of PostgreSQL. */
const takenColumns: readonly string[] = [
  ...["id", "created_at", "creator", "create_key", "row_version"],
  ...["rowid", "oid"],
  ...["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"],
];

/**
 * The column of a field: its name, or, where that may clash, one that follows from the name alone.
 */
function columnNameOf(field: string): string {
  const isFree = plain.test(field) && !takenColumns.includes(field) && !field.startsWith("x_");
  return isFree ? field : distinctName(field);
}

/** The names of a field: its own, as a member of JSON, and as a column. */
export function namesOfField(name: string): Pick<Field, "name" | "jsonName" | "column" | "columnName"> {
  const columnName = columnNameOf(name);
  return { name, jsonName: `${JSON.stringify(name)}:`, column: `"${columnName}"`, columnName };
}

/** The tables and indexes of the store itself, and those of the engines. */
const takenTables =
  /^(?:collections|contract|creators|edits|plantstore_schema|token|tokens|sqlite|pg|x)(?:_|$)/;

/**
 * The table of a collection: its path with underscores, or, where that may clash, one that follows
 * from the path alone.
 */
export function tableNameOf(path: string): string {
  const own = path.replaceAll(/^\/|\/$/g, "").replaceAll(/[/-]/g, "_");
  return plain.test(own) && !takenTables.test(own) ? own : distinctName(path);
}

function distinctName(text: string): string {
  const readable = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, 30);
  return `x_${readable}_${fingerprint(text)}`;
}

/** 64 bits of FNV-1a over the UTF-16 code units, in hexadecimal digits. */
export function fingerprint(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (let index = 0; index < text.length; index++)
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(index))) * 0x100000001b3n);
  return hash.toString(16).padStart(16, "0");
}
