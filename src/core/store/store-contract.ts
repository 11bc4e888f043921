// The contract of a store: it is written into the store when that is created, and read there.

import type { Contract, ContractSource, Field } from "../contract/contract.ts";
import { plantStoreSource } from "../contract/default-contract.ts";
import type { ColumnValue } from "../contract/field-types.ts";
import { OperatorError } from "../operator-error.ts";

type Engine = "sqlite" | "postgres";

/** A store before it is opened. */
export interface FoundStore {
  /** 0 if there is none yet. */
  readonly version: number;
  /** Undefined if there is none yet. */
  readonly source: ContractSource | undefined;
}

/**
 * The contract to open a store with: the one that is wanted, if the store can take it over, or else
 * its own. Rejects with an OperatorError.
 *
 * @param known a contract that is already parsed.
 */
export async function chooseContract(
  { source: own }: FoundStore,
  wanted: ContractSource | undefined,
  known?: Contract,
): Promise<Contract> {
  const isUnchanged = wanted === undefined || own === undefined || isSameSource(own, wanted);
  const chosen = wanted ?? own ?? plantStoreSource;
  if (isUnchanged && known !== undefined && isSameSource(known.source, chosen)) return known;
  // Loaded late, as a thread that knows its contract does not need it.
  const { readContract } = await import("../contract/read-contract.ts");
  if (isUnchanged) return readContract(chosen);
  const { findRefusedChange } = await import("../contract/compare-contracts.ts");
  const [stored, contract] = [await readContract(own), await readContract(wanted)];
  const refused = findRefusedChange(stored, contract);
  if (refused !== undefined)
    throw new OperatorError(
      `the store has another contract, which it keeps: ${refused}; name a contract that fits, or another store`,
    );
  return contract;
}

export function isSameSource(one: ContractSource | undefined, other: ContractSource): boolean {
  return one?.text === other.text && one.collection === other.collection;
}

/**
 * The type of a column with ids. A text is compared by its bytes, whatever the database's
 * collation.
 */
export function idColumnType({ id: { type } }: Contract, engine: Engine): string {
  const name = type.column[engine];
  return name === "text" ? 'text COLLATE "C"' : name;
}

/** The columns of all fields, as CREATE TABLE takes them. Validation rejects what is not there. */
export function columnDefinitions({ fields }: Contract, engine: Engine): string {
  return fields.map((field) => definition(field, engine)).join(", ");
}

/**
 * The statements that bring the table to the fields of a contract. A field that is gone keeps its
 * column.
 *
 * @param columns the types of the table's columns by their names.
 */
export function columnStatements(
  { fields }: Contract,
  engine: Engine,
  columns: ReadonlyMap<string, string>,
): string[] {
  return fields.flatMap((field) => {
    const { name, column, columnName, type, isRequired, fill } = field;
    const existing = columns.get(columnName)?.toLowerCase();
    const value = fill === undefined ? undefined : literal(type.toColumn(fill), engine);
    if (existing === undefined)
      return [
        `ALTER TABLE plants ADD COLUMN ${definition(field, engine)}${value === undefined ? "" : ` DEFAULT ${value}`}`,
      ];
    if (existing !== type.column[engine].toLowerCase())
      throw new OperatorError(
        `the store has values of "${name}" as ${existing} from an earlier contract, which would be ${type.expected}; give the field another name`,
      );
    return isRequired && value !== undefined
      ? [`UPDATE plants SET ${column} = ${value} WHERE ${column} IS NULL`]
      : [];
  });
}

/** Whether the table has a column for each field. */
export function hasColumns({ fields }: Contract, columns: ReadonlyMap<string, string>): boolean {
  return fields.every(({ columnName }) => columns.has(columnName));
}

function definition({ column, type }: Field, engine: Engine): string {
  return `${column} ${type.column[engine]}`;
}

function literal(value: Exclude<ColumnValue, null>, engine: Engine): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return typeof value === "boolean" && engine === "sqlite" ? String(Number(value)) : String(value);
}
