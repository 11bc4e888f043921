// The columns of the resource's fields, which every engine adds to its table when a store is opened.

import type { ColumnValue } from "../contract/field-types.ts";
import { type FieldName, fieldNames, fillValue, isRequired, typeOf } from "../contract/fields.ts";
import { OperatorError } from "../operator-error.ts";

type Engine = "sqlite" | "postgres";

/** The columns of all fields, as CREATE TABLE takes them. Validation rejects what is not there. */
export function columnDefinitions(engine: Engine): string {
  return fieldNames.map((field) => definition(field, engine)).join(", ");
}

/** The fields that a table with these columns does not have. */
export function missingFields(columns: readonly string[]): FieldName[] {
  return fieldNames.filter((field) => !columns.includes(field));
}

/**
 * The statements that add columns. Throws an OperatorError for a required field without a value for
 * the plants that are stored.
 */
export function addColumnStatements(
  fields: readonly FieldName[],
  engine: Engine,
  { hasPlants }: { readonly hasPlants: boolean },
): string[] {
  return fields.map((field) => {
    const fill = fillValue(field);
    if (hasPlants && isRequired(field) && fill === undefined) {
      throw new OperatorError(
        `the field ${field} is required, but the store has plants without it: give it a value for them in src/core/contract/resource.ts, as in required(text(), "example", { fill: "unknown" })`,
      );
    }
    const value = fill === undefined ? "" : ` DEFAULT ${literal(typeOf(field).toColumn(fill), engine)}`;
    return `ALTER TABLE plants ADD COLUMN ${definition(field, engine)}${value}`;
  });
}

function definition(field: FieldName, engine: Engine): string {
  return `${field} ${typeOf(field).column[engine]}`;
}

function literal(value: Exclude<ColumnValue, null>, engine: Engine): string {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  return typeof value === "boolean" && engine === "sqlite" ? String(Number(value)) : String(value);
}
