// Writes the statements that create and alter the tables of a store: those of its collections, with
// the columns that the contract gives them, and those that all collections share.

import type { Collection, Field } from "../../contract/contract.ts";
import type { ColumnValue } from "../../contract/stored-types.ts";
import { hasKeySql, keepsKeys, keyColumn } from "../shared/create-key.ts";
import { listIndexes, listIndexPrefix } from "../shared/list-indexes.ts";
import { versionColumn } from "../shared/plant-rows.ts";
import { query, type SqlWork } from "../shared/sql-work.ts";
import type { ContractChange, DroppedPart, KeptCollection } from "./contract-change.ts";

import { requirementsOf, type StoredTables } from "./stored-names.ts";

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
    columns: `SELECT collections.name AS "table", path, info.name AS "column", info.type
              FROM collections LEFT JOIN pragma_table_info(collections.name) AS info`,
    indexes: `SELECT name, 1 AS valid FROM sqlite_schema
              WHERE type = 'index' AND substr(name, 1, ${listIndexPrefix.length}) = '${listIndexPrefix}'`,
  },
  postgres: {
    int8: "bigint",
    strict: "",
    withoutRowid: "",
    columns: `SELECT name AS "table", path, attname AS "column", format_type(atttypid, NULL) AS type
              FROM collections LEFT JOIN pg_attribute
                ON attrelid = to_regclass(quote_ident(name)) AND attnum > 0 AND NOT attisdropped`,
    indexes: `SELECT relname AS name, indisvalid::integer AS valid
              FROM collections JOIN pg_index ON indrelid = to_regclass(quote_ident(name)) JOIN pg_class ON pg_class.oid = indexrelid
              WHERE starts_with(relname, '${listIndexPrefix}')`,
  },
} as const;

/**
 * One migration for each version, in statements: Citus sends each to its nodes. A released one is
 * never edited: add another below it.
 */
const migrations: readonly ((engine: Engine) => readonly string[])[] = [
  // A creator is null where it is unknown. An edit has what the plant was and became, as the JSON of its
  // fields, with its versions, that which an undo has restored, and when and by whom it was created; its
  // id is a text, whatever the collection has.
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
         scopes          text,
         overlap_ends_at ${int8},
         revoked_at      ${int8},
         last_used_at    ${int8},
         creator         integer NOT NULL
       ) ${withoutRowid}`,
      `CREATE TABLE token_version (version integer NOT NULL) ${strict}`,
      "INSERT INTO token_version VALUES (0)",

      `CREATE TABLE edits (
         collection     text NOT NULL,
         plant_id       text NOT NULL,
         version        ${int8} NOT NULL,
         version_before ${int8},
         restores       ${int8},
         run            text NOT NULL,
         seq            ${int8} NOT NULL,
         edited_at      ${int8} NOT NULL,
         editor         text NOT NULL,
         created_at     ${int8} NOT NULL,
         creator        integer,
         create_key     text,
         before         text,
         after          text,
         PRIMARY KEY (plant_id, collection, version)
       ) ${strict}`,
      "CREATE INDEX edits_by_run ON edits (run, seq)",
      "CREATE INDEX edits_by_time ON edits (edited_at, run, seq)",
    ];
  },
];

/** The schema version that this program works with. */
export const newestVersion = migrations.length;

/** Reads the columns of the tables of all collections: none where one was dropped. */
export function* storedTables(engine: Engine): SqlWork<StoredTables> {
  type Row = { readonly [name in "table" | "path" | "type"]: string } & { readonly column: string | null };
  const rows = yield* query<Row>(dialects[engine].columns);
  return new Map(
    [...Map.groupBy(rows, ({ table }) => table)].map(([table, own]) => [
      table,
      {
        path: own[0]?.path ?? "",
        columns: new Map(own.flatMap(({ column, type }) => (column === null ? [] : [[column, type]]))),
      },
    ]),
  );
}

/** Reads the names of the indexes of lists: of those that serve, and of those that are not complete. */
export function* storedIndexes(engine: Engine) {
  const rows = yield* query<{ name: string; valid: bigint | number }>(dialects[engine].indexes);
  const namesOf = (valid: number) => rows.flatMap((row) => (Number(row.valid) === valid ? [row.name] : []));
  return { complete: namesOf(1), others: namesOf(0) };
}

/** The statements that bring the tables of a version to the newest one. */
export function migrationStatements(version: number, engine: Engine): string[] {
  return migrations.slice(version).flatMap((migration) => migration(engine));
}

/** Creates the table of a collection, with all columns. NOT NULL is left to validation. */
function tableStatement(collection: Collection, engine: Engine, marker: string): string {
  const { table, id, fields } = collection;
  const { int8, strict, withoutRowid } = dialects[engine];
  const idType = id.type.column[engine];
  const columns = [
    // A text is compared by its bytes, whatever the database's collation.
    `id ${idType === "text" ? 'text COLLATE "C"' : idType} ${primaryKey(table, engine)}`,
    ...fields.map((field) => definition(field, engine)),
    `created_at ${int8} NOT NULL`,
    "creator integer",
    `${versionColumn} ${int8}`,
    ...(keepsKeys(collection) ? [keyDefinition] : []),
    // Has no values, and takes no room.
    ...(engine === "postgres" ? [`"${marker}" boolean`] : []),
  ];
  return `CREATE TABLE "${table}" (${columns.join(", ")}) ${id.type.kind.name === "integer" ? strict : withoutRowid}`;
}

/**
 * PostgreSQL's index of a primary key shares the names of tables, and "items_pkey", its default, may
 * be the table of another collection. One that begins with x_ ends in 16 hexadecimal digits.
 */
function primaryKey(table: string, engine: Engine): string {
  return engine === "postgres" ? `CONSTRAINT "x_${table}_pkey" PRIMARY KEY` : "PRIMARY KEY";
}

/**
 * The statements that bring the tables of a store to a contract. What SQLite cannot drop in a moment
 * gets another name: erase.ts deletes it.
 *
 * @param newName makes a name that nothing has.
 */
export function changeStatements(
  { kept, added, dropped }: ContractChange,
  engine: Engine,
  tables: StoredTables,
  { marker, newName }: { readonly marker: string; readonly newName: () => string },
): string[] {
  return [
    ...dropped.flatMap((part) => dropStatements(part, engine, newName)),
    ...kept.flatMap((each) => keepStatements(each, engine, tables.get(each.stored.table)?.columns, marker)),
    ...added.flatMap((collection) => [
      tableStatement(collection, engine, marker),
      ...keyIndexes(collection),
      // Others are made while creates go on, see openContract.
      ...listIndexes([collection], engine).map(({ name, on }) => `CREATE INDEX "${name}" ON ${on}`),
      `INSERT INTO collections VALUES (${literal(collection.table, engine)}, ${literal(collection.path, engine)})
         ON CONFLICT DO NOTHING`,
    ]),
  ];
}

function dropStatements({ table, field }: DroppedPart, engine: Engine, newName: () => string): string[] {
  const isKept = engine === "sqlite";
  if (field !== undefined)
    return [
      `ALTER TABLE "${table}" ${isKept ? `RENAME COLUMN ${field.column} TO "${newName()}"` : `DROP COLUMN ${field.column}`}`,
    ];
  // The name stays with its path, in "collections": the history has what was recorded under it.
  if (!isKept) return [`DROP TABLE "${table}"`];
  // An index keeps its name, which a table of the same path will need.
  return [`DROP INDEX IF EXISTS "${keyIndex({ table })}"`, `ALTER TABLE "${table}" RENAME TO "${newName()}"`];
}

/**
 * The statements for a table that stays.
 *
 * @param columns the types of its columns by their names.
 */
function keepStatements(
  { stored, wanted, fields, added }: KeptCollection,
  engine: Engine,
  columns: ReadonlyMap<string, string> | undefined,
  marker: string,
): string[] {
  const { table, path } = wanted;
  const moved =
    stored.path === path
      ? []
      : [`UPDATE collections SET path = ${literal(path, engine)} WHERE name = ${literal(table, engine)}`];
  const renamed = fields.filter(([before, after]) => before.column !== after.column);
  return [
    ...moved,
    ...renamed.map(
      ([before, after]) => `ALTER TABLE "${table}" RENAME COLUMN ${before.column} TO ${after.column}`,
    ),
    ...fields.flatMap(([before, after]) => fillStatements(before, after, table, engine)),
    ...added.map((field) => {
      const { type, fill } = field;
      const value = fill === undefined ? "" : ` DEFAULT ${literal(type.toColumn(fill), engine)}`;
      return `ALTER TABLE "${table}" ADD COLUMN ${definition(field, engine)}${value}`;
    }),
    ...(keepsKeys(wanted) && columns?.has(keyColumn) !== true
      ? [`ALTER TABLE "${table}" ADD COLUMN ${keyDefinition}`, ...keyIndexes(wanted)]
      : []),
    ...(stored.marker === undefined || requirementsOf(stored) === requirementsOf(wanted)
      ? []
      : [`ALTER TABLE "${table}" RENAME COLUMN "${stored.marker}" TO "${marker}"`]),
  ];
}

const keyDefinition = `${keyColumn} text`;

/** The index that makes the creates with one key one plant. */
function keyIndexes(collection: Collection): string[] {
  return keepsKeys(collection)
    ? [
        `CREATE UNIQUE INDEX "${keyIndex(collection)}" ON "${collection.table}" (${keyColumn}) WHERE ${hasKeySql}`,
      ]
    : [];
}

function keyIndex({ table }: Pick<Collection, "table">): string {
  return `x_${table}_key`;
}

/**
 * The statement that gives plants without a field its default, which is required now: none if it was.
 *
 * @param column that of the field, by default as the contract will have it.
 * @param where a further condition.
 */
export function fillStatements(
  before: Field,
  { type, isRequired, fill, column: own }: Field,
  table: string,
  engine: Engine,
  { column = own, where = "" }: { readonly column?: string; readonly where?: string } = {},
): string[] {
  if (before.isRequired || !isRequired || fill === undefined) return [];
  const value = literal(type.toColumn(fill), engine);
  return [`UPDATE "${table}" SET ${column} = ${value} WHERE ${column} IS NULL${where}`];
}

function definition({ column, type }: Field, engine: Engine): string {
  return `${column} ${type.column[engine]}`;
}

export function literal(value: Exclude<ColumnValue, null>, engine: Engine): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return typeof value === "boolean" && engine === "sqlite" ? String(Number(value)) : String(value);
}
