// Writes the statements that create and alter the tables of a store: those of its collections, with
// the columns that the contract gives them, and those that all collections share.

import { OperatorError } from "../../base/operator-error.ts";
import type { Collection, Field } from "../../contract/contract.ts";
import type { ColumnValue } from "../../contract/stored-types.ts";
import { changeTimeColumn } from "../shared/plant-rows.ts";
import { query, type SqlWork } from "../shared/sql-work.ts";
import type { AddedField } from "./store-contract.ts";

export type Engine = "sqlite" | "postgres";

/**
 * SQL that differs between the engines: the type int8, the options of a table, the function that
 * finds a text in another, and the query of the columns that the tables of the collections have.
 */
const dialects = {
  sqlite: {
    int8: "integer",
    strict: "STRICT",
    withoutRowid: "STRICT, WITHOUT ROWID",
    find: "instr",
    columns: `SELECT collections.name AS "table", info.name AS "column", info.type
              FROM collections JOIN pragma_table_info(collections.name) AS info`,
  },
  postgres: {
    int8: "bigint",
    strict: "",
    withoutRowid: "",
    find: "strpos",
    columns: `SELECT name AS "table", attname AS "column", format_type(atttypid, NULL) AS type
              FROM collections JOIN pg_attribute ON attrelid = to_regclass(quote_ident(name))
              WHERE attnum > 0 AND NOT attisdropped`,
  },
} as const;

/**
 * One migration for each version, in statements: Citus sends each to its nodes. A released one is
 * never edited: add another below it.
 */
const migrations: readonly ((engine: Engine) => readonly string[])[] = [
  // A creator is null where it is unknown. An edit has what the plant was and became, as JSON, and
  // when and by whom a deleted one was created; its id is a text, whatever the collection has.
  (engine) => {
    const { int8, strict, withoutRowid } = dialects[engine];
    return [
      `CREATE TABLE collections (name text PRIMARY KEY, path text NOT NULL) ${withoutRowid}`,

      `CREATE TABLE creators (id integer PRIMARY KEY, name text NOT NULL UNIQUE) ${strict}`,

      `CREATE TABLE tokens (
         hash            text PRIMARY KEY,
         name            text NOT NULL,
         created_at      ${int8} NOT NULL,
         expires_at      ${int8},
         overlap_ends_at ${int8},
         revoked_at      ${int8},
         last_used_at    ${int8},
         creator         integer NOT NULL
       ) ${withoutRowid}`,
      `CREATE TABLE token_version (version integer NOT NULL) ${strict}`,
      "INSERT INTO token_version VALUES (0)",

      `CREATE TABLE edits (
         run        text NOT NULL,
         seq        ${int8} NOT NULL,
         collection text NOT NULL,
         plant_id   text NOT NULL,
         edited_at  ${int8} NOT NULL,
         editor     text NOT NULL,
         before     text,
         after      text,
         created_at ${int8} NOT NULL,
         creator    integer,
         PRIMARY KEY (plant_id, collection, run, seq)
       ) ${strict}`,
      "CREATE INDEX edits_by_run ON edits (run, seq)",
      "CREATE INDEX edits_by_time ON edits (edited_at, run, seq)",
    ];
  },
];

/** The schema version that this program works with. */
export const newestVersion = migrations.length;

/** The types of the columns of each collection's table, by their names. */
export type StoredTables = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** Reads the columns of the tables of all collections. */
export function* storedTables(engine: Engine): SqlWork<StoredTables> {
  const columns = yield* query<{ table: string; column: string; type: string }>(dialects[engine].columns);
  const tables = Map.groupBy(columns, ({ table }) => table);
  return new Map(
    [...tables].map(([table, own]) => [table, new Map(own.map(({ column, type }) => [column, type]))]),
  );
}

/** The statements that bring the tables of a version to the newest one. */
export function migrationStatements(version: number, engine: Engine): string[] {
  return migrations.slice(version).flatMap((migration) => migration(engine));
}

/** Creates the table of a collection, with all columns. NOT NULL is left to validation. */
function tableStatement(collection: Collection, engine: Engine): string {
  const { table, id, fields, keepsChangeTime } = collection;
  const { int8, strict, withoutRowid } = dialects[engine];
  const idType = id.type.column[engine];
  const columns = [
    // A text is compared by its bytes, whatever the database's collation.
    `id ${idType === "text" ? 'text COLLATE "C"' : idType} ${primaryKey(table, engine)}`,
    ...fields.map((field) => definition(field, engine)),
    ...(keepsChangeTime ? [changeTimeDefinition(engine)] : []),
    `created_at ${int8} NOT NULL`,
    "creator integer",
  ];
  return `CREATE TABLE "${table}" (${columns.join(", ")}) ${id.type.kind === "integer" ? strict : withoutRowid}`;
}

/**
 * PostgreSQL's index of a primary key shares the names of tables, and "items_pkey", its default, may
 * be the table of another collection. One that begins with x_ ends in 16 hexadecimal digits.
 */
function primaryKey(table: string, engine: Engine): string {
  return engine === "postgres" ? `CONSTRAINT "x_${table}_pkey" PRIMARY KEY` : "PRIMARY KEY";
}

/** The statements that bring the tables of a store to the collections of a contract. */
export function collectionStatements(
  collections: readonly Collection[],
  engine: Engine,
  tables: StoredTables,
): string[] {
  return collections.flatMap((collection) => {
    const { table, path } = collection;
    const columns = tables.get(table);
    if (columns !== undefined) return columnStatements(collection, engine, columns);
    const registered = `INSERT INTO collections VALUES (${literal(table, engine)}, ${literal(path, engine)})`;
    return [tableStatement(collection, engine), registered];
  });
}

/**
 * The checks of fields that the store's contract does not have, and whose columns exist: an earlier
 * contract had them, with other restrictions. Their values may be in the table, and in the history
 * of plants that are gone. Each is a query that must find no row, and the error if it finds one.
 */
export function fieldChecks(
  added: readonly AddedField[],
  engine: Engine,
  tables: StoredTables,
): { readonly sql: string; readonly error: OperatorError }[] {
  const { find } = dialects[engine];
  return added
    .filter(
      ({ collection: { table }, field: { columnName }, isKnown }) =>
        !isKnown && tables.get(table)?.has(columnName),
    )
    .flatMap(({ collection: { table }, field: { name, jsonName, column } }) => {
      const member = literal(jsonName, engine);
      const error = new OperatorError(
        `the store or its history has values of "${name}" from an earlier contract, which this one might not accept; give the field the schema that it had, or another name`,
      );
      return [
        { sql: `SELECT 1 FROM "${table}" WHERE ${column} IS NOT NULL LIMIT 1`, error },
        {
          sql: `SELECT 1 FROM edits WHERE collection = ${literal(table, engine)}
                AND (${find}(before, ${member}) > 0 OR ${find}(after, ${member}) > 0) LIMIT 1`,
          error,
        },
      ];
    });
}

/**
 * The statements that bring a table to the fields of its collection. A field that is gone keeps its
 * column.
 *
 * @param columns the types of the table's columns by their names.
 */
function columnStatements(
  { table, fields, keepsChangeTime }: Collection,
  engine: Engine,
  columns: ReadonlyMap<string, string>,
): string[] {
  const isNew = keepsChangeTime && !columns.has(changeTimeColumn);
  const time = isNew ? [`ALTER TABLE "${table}" ADD COLUMN ${changeTimeDefinition(engine)}`] : [];
  const ofFields = fields.flatMap((field) => {
    const { name, column, columnName, type, isRequired, fill } = field;
    const existing = columns.get(columnName)?.toLowerCase();
    const value = fill === undefined ? undefined : literal(type.toColumn(fill), engine);
    if (existing === undefined)
      return [
        `ALTER TABLE "${table}" ADD COLUMN ${definition(field, engine)}${value === undefined ? "" : ` DEFAULT ${value}`}`,
      ];
    if (existing !== type.column[engine].toLowerCase())
      throw new OperatorError(
        `the store has a column of ${existing} for "${name}" from an earlier contract, which would be ${type.expected}; give the field another name`,
      );
    return isRequired && value !== undefined
      ? [`UPDATE "${table}" SET ${column} = ${value} WHERE ${column} IS NULL`]
      : [];
  });
  return [...ofFields, ...time];
}

function changeTimeDefinition(engine: Engine): string {
  return `${changeTimeColumn} ${dialects[engine].int8}`;
}

function definition({ column, type }: Field, engine: Engine): string {
  return `${column} ${type.column[engine]}`;
}

function literal(value: Exclude<ColumnValue, null>, engine: Engine): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return typeof value === "boolean" && engine === "sqlite" ? String(Number(value)) : String(value);
}
