// The tables of a store, and the columns that its plants have by its contract.

import {
  type Collection,
  type Contract,
  type ContractSource,
  type Field,
  onlyCollection,
} from "../contract/contract.ts";
import type { ColumnValue } from "../contract/values/stored-types.ts";
import { OperatorError } from "../operator-error.ts";
import { isSameSource } from "./store-contract.ts";

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
const migrations: readonly ((collection: Collection, engine: Engine) => readonly string[])[] = [
  // A creator is null where it is unknown. An edit has what the plant was and became, as JSON, and
  // when and by whom a deleted one was created.
  (collection, engine) => {
    const { int8, strict, withoutRowid } = dialects[engine];
    const id = idColumnType(collection, engine);
    return [
      `CREATE TABLE plants (
         id         ${id} PRIMARY KEY,
         ${columnDefinitions(collection, engine)},
         created_at ${int8} NOT NULL,
         creator    integer
       ) ${collection.id.type.kind === "integer" ? strict : withoutRowid}`,

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
         plant_id   ${id} NOT NULL,
         edited_at  ${int8} NOT NULL,
         editor     text NOT NULL,
         before     text,
         after      text,
         created_at ${int8} NOT NULL,
         creator    integer,
         PRIMARY KEY (plant_id, run, seq)
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
  /** 0 if there is none yet; then it has neither source nor columns. */
  readonly version: number;
  readonly source: ContractSource | undefined;
  /** The types of the columns of its plants, by their names. */
  readonly columns: ReadonlyMap<string, string>;
}

export const noStore: FoundStore = { version: 0, source: undefined, columns: new Map() };

/** Throws an OperatorError if a newer program has written a store. */
export function assertKnownVersion(version: number, store: string): void {
  if (version > newestVersion)
    throw new OperatorError(
      `${store} has schema version ${version}, but this program knows versions up to ${newestVersion}; run a newer plantstore`,
    );
}

/** Whether a store has the newest version, this contract, and a column for each of its fields. */
export function isUpToDate({ version, source, columns }: FoundStore, contract: Contract): boolean {
  const collection = onlyCollection(contract);
  return (
    version === newestVersion &&
    isSameSource(source, contract.source) &&
    collection.fields.every(({ columnName }) => columns.has(columnName)) &&
    (!collection.keepsChangeTime || columns.has(changeTimeColumn))
  );
}

/** The error of a store that is not up to date, and may not be migrated. */
export function notUpToDate(store: string, wanted?: ContractSource): OperatorError {
  return new OperatorError(
    wanted === undefined
      ? `${store} is not up to date; run "plantstore migrate" first`
      : `${store} has another contract; run "plantstore migrate" with this --contract first`,
  );
}

/** When a plant was last edited, in stores whose contract returns it; null for one that never was. */
export const changeTimeColumn = "changed_at";

/** The statements that bring the tables of a version to the newest one. */
export function migrationStatements(version: number, collection: Collection, engine: Engine): string[] {
  return migrations.slice(version).flatMap((migration) => migration(collection, engine));
}

/**
 * The type of a column with ids. A text is compared by its bytes, whatever the database's
 * collation.
 */
function idColumnType({ id: { type } }: Collection, engine: Engine): string {
  const name = type.column[engine];
  return name === "text" ? 'text COLLATE "C"' : name;
}

/** The columns of all fields for CREATE TABLE. NOT NULL is left to validation. */
function columnDefinitions({ fields, keepsChangeTime }: Collection, engine: Engine): string {
  const own = fields.map((field) => definition(field, engine));
  return [...own, ...(keepsChangeTime ? [changeTimeDefinition(engine)] : [])].join(", ");
}

/** A query that finds no row in a store that can have a field, and the error if it finds one. */
interface FieldCheck {
  readonly sql: string;
  readonly error: OperatorError;
}

/**
 * The checks of fields that the store's contract does not have, and whose columns exist: an earlier
 * contract had them, with restrictions that are no longer known. Their values may be in the table,
 * and in the history of plants that are gone.
 */
export function fieldChecks(
  added: readonly Field[],
  engine: Engine,
  columns: ReadonlyMap<string, string>,
): FieldCheck[] {
  const { find } = dialects[engine];
  return added
    .filter(({ columnName }) => columns.has(columnName))
    .flatMap(({ name, jsonName, column }) => {
      const member = literal(jsonName, engine);
      const error = new OperatorError(
        `the store or its history has values of "${name}" from an earlier contract, which this one might not accept; give the field another name`,
      );
      return [
        { sql: `SELECT 1 FROM plants WHERE ${column} IS NOT NULL LIMIT 1`, error },
        {
          sql: `SELECT 1 FROM edits WHERE ${find}(before, ${member}) > 0 OR ${find}(after, ${member}) > 0 LIMIT 1`,
          error,
        },
      ];
    });
}

/**
 * The statements that bring the table to the fields of a contract. A field that is gone keeps its
 * column.
 *
 * @param columns the types of the table's columns by their names.
 */
export function columnStatements(
  { fields, keepsChangeTime }: Collection,
  engine: Engine,
  columns: ReadonlyMap<string, string>,
): string[] {
  const isNew = keepsChangeTime && !columns.has(changeTimeColumn);
  const time = isNew ? [`ALTER TABLE plants ADD COLUMN ${changeTimeDefinition(engine)}`] : [];
  const ofFields = fields.flatMap((field) => {
    const { name, column, columnName, type, isRequired, fill } = field;
    const existing = columns.get(columnName)?.toLowerCase();
    const value = fill === undefined ? undefined : literal(type.toColumn(fill), engine);
    if (existing === undefined)
      return [
        `ALTER TABLE plants ADD COLUMN ${definition(field, engine)}${value === undefined ? "" : ` DEFAULT ${value}`}`,
      ];
    if (existing !== type.column[engine].toLowerCase())
      throw new OperatorError(
        `the store has a column of ${existing} for "${name}" from an earlier contract, which would be ${type.expected}; give the field another name`,
      );
    return isRequired && value !== undefined
      ? [`UPDATE plants SET ${column} = ${value} WHERE ${column} IS NULL`]
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
