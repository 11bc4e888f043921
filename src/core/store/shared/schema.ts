// The tables of a store: those of its collections, with the columns that the contract gives them, and
// those that all collections share.

import type { Collection, Contract, ContractSource, Field } from "../../contract/contract.ts";
import type { ColumnValue } from "../../contract/values/stored-types.ts";
import { OperatorError } from "../../operator-error.ts";
import { type AddedField, isSameSource } from "./store-contract.ts";

type Engine = "sqlite" | "postgres";

/**
 * SQL that differs between the engines: the type int8, the options of a table, and the function that
 * finds a text in another.
 */
const dialects = {
  sqlite: { int8: "integer", strict: "STRICT", withoutRowid: "STRICT, WITHOUT ROWID", find: "instr" },
  postgres: { int8: "bigint", strict: "", withoutRowid: "", find: "strpos" },
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

/** A store before it is opened. */
export interface FoundStore {
  /** 0 if there is none yet; then it has neither source nor tables. */
  readonly version: number;
  readonly source: ContractSource | undefined;
  /** Those that it keeps, as JSON; null if there is none yet. */
  readonly schemas: string | null;
  readonly tables: StoredTables;
}

/** The types of the columns of each collection's table, by their names. */
export type StoredTables = ReadonlyMap<string, ReadonlyMap<string, string>>;

/** A column of a collection's table. */
interface StoredColumn {
  readonly table: string;
  readonly column: string;
  readonly type: string;
}

export function toStoredTables(columns: readonly StoredColumn[]): StoredTables {
  const tables = Map.groupBy(columns, ({ table }) => table);
  return new Map(
    [...tables].map(([table, own]) => [table, new Map(own.map(({ column, type }) => [column, type]))]),
  );
}

export const noStore: FoundStore = { version: 0, source: undefined, schemas: null, tables: new Map() };

/** Throws an OperatorError if a newer program has written a store. */
export function assertKnownVersion(version: number, store: string): void {
  if (version > newestVersion)
    throw new OperatorError(
      `${store} has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
    );
}

/** Whether a store has the newest version, this contract, and a column for each of its fields. */
export function isUpToDate({ version, source, tables }: FoundStore, contract: Contract): boolean {
  return (
    version === newestVersion &&
    isSameSource(source, contract.source) &&
    contract.collections.every(({ table, fields, keepsChangeTime }) => {
      const columns = tables.get(table);
      return (
        columns !== undefined &&
        fields.every(({ columnName }) => columns.has(columnName)) &&
        (!keepsChangeTime || columns.has(changeTimeColumn))
      );
    })
  );
}

/** A store is to be created or migrated first. */
export class NotUpToDate extends OperatorError {}

/** The error of a store that is not up to date, and may not be migrated. */
export function notUpToDate(store: string, wanted?: ContractSource): NotUpToDate {
  return new NotUpToDate(
    wanted === undefined
      ? `${store} is not up to date; run "plantstore migrate" first`
      : `${store} has another contract; run "plantstore migrate" with this --contract first`,
  );
}

/** When a plant was last edited, in stores whose contract returns it; null for one that never was. */
export const changeTimeColumn = "changed_at";

/** The statements that bring the tables of a version to the newest one. */
export function migrationStatements(version: number, engine: Engine): string[] {
  return migrations.slice(version).flatMap((migration) => migration(engine));
}

/**
 * The type of a column with ids. A text is compared by its bytes, whatever the database's
 * collation.
 */
function idColumnType({ id: { type } }: Collection, engine: Engine): string {
  const name = type.column[engine];
  return name === "text" ? 'text COLLATE "C"' : name;
}

/** Creates the table of a collection, with all columns. NOT NULL is left to validation. */
function tableStatement(collection: Collection, engine: Engine): string {
  const { table, id, fields, keepsChangeTime } = collection;
  const { int8, strict, withoutRowid } = dialects[engine];
  const columns = [
    `id ${idColumnType(collection, engine)} PRIMARY KEY`,
    ...fields.map((field) => definition(field, engine)),
    ...(keepsChangeTime ? [changeTimeDefinition(engine)] : []),
    `created_at ${int8} NOT NULL`,
    "creator integer",
  ];
  return `CREATE TABLE "${table}" (${columns.join(", ")}) ${id.type.kind === "integer" ? strict : withoutRowid}`;
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

/** A query that finds no row in a store that can have a field, and the error if it finds one. */
interface FieldCheck {
  readonly sql: string;
  readonly error: OperatorError;
}

/**
 * The checks of fields that the store's contract does not have, and whose columns exist: an earlier
 * contract had them, with other restrictions. Their values may be in the table,
 * and in the history of plants that are gone.
 */
export function fieldChecks(
  added: readonly AddedField[],
  engine: Engine,
  tables: StoredTables,
): FieldCheck[] {
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
