// The contract of a store: it is written into the store when that is created, and read there.

import { findRefusedChange } from "../contract/compare-contracts.ts";
import type { Contract, ContractSource, Field } from "../contract/contract.ts";
import type { ColumnValue } from "../contract/field-types.ts";
import { plantStoreSource } from "../contract/plant-store.ts";
import { readContract } from "../contract/read-contract.ts";
import { OperatorError } from "../operator-error.ts";

type Engine = "sqlite" | "postgres";

/** A store before it is opened. */
export interface FoundStore {
  /** 0 if there is none yet. */
  readonly version: number;
  /** Undefined in a store of the first version, which is a Plant Store. */
  readonly source: ContractSource | undefined;
}

/**
 * The contract to open a store with: the one that is wanted, if the store can take it over, or else its
 * own. Rejects with an OperatorError.
 */
export async function chooseContract(
  { version, source }: FoundStore,
  wanted: ContractSource | undefined,
): Promise<Contract> {
  const own = source ?? (version > 0 ? plantStoreSource : undefined);
  if (wanted === undefined || own === undefined || isSameSource(own, wanted))
    return readContract(wanted ?? own ?? plantStoreSource);
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

/** The columns of all fields, as CREATE TABLE takes them. Validation rejects what is not there. */
export function columnDefinitions({ fields }: Contract, engine: Engine): string {
  return fields.map((field) => definition(field, engine)).join(", ");
}

/**
 * The statements that bring the table to the fields of a contract. A field that is gone keeps its column.
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
