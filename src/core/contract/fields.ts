// The fields of the resource as the rest of the code uses them: their names, types and values.

import type { ColumnValue, FieldType } from "./field-types.ts";
import { resource } from "./resource.ts";
import type { Field, FieldValues } from "./resource-definition.ts";

const { fields } = resource;

export type FieldName = keyof typeof fields;

/** A value of any type of field. */
export type FieldValue = string | number | bigint | boolean | readonly string[];

/**
 * A plant as it is returned: without its id, and without the optional fields that were not sent.
 */
export type Plant = FieldValues<typeof fields>;

/** The fields of a plant as the columns of a table: null for a field that it does not have. */
export type PlantColumns = { readonly [Field in FieldName]: ColumnValue };

export const fieldNames = Object.keys(fields) as readonly FieldName[];

/** The field that lists show first: a required text. */
export const titleField = resource.title;

/** The field by which lists and charts group: an optional text; undefined if there is none. */
export const groupField: FieldName | undefined = resource.group;

/** The fields whose columns are texts. */
export const textFields = fieldNames.filter((field) => typeOf(field).column.sqlite === "TEXT");

const types = fieldNames.map((field) => fields[field].type as FieldType<unknown>);

export function typeOf(field: FieldName): FieldType<unknown> {
  return fields[field].type;
}

export function isRequired(field: FieldName): boolean {
  return fields[field].isRequired;
}

/** The value of a required field for plants that were stored before it was added. */
export function fillValue(field: FieldName): unknown {
  const declared: Field<unknown> = fields[field];
  return declared.fill;
}

/** The value of a field, widened so that code for all types compiles. */
export function fieldValue(plant: Plant, field: FieldName): FieldValue | undefined {
  return plant[field];
}

/** Whether two plants have the same value of a field, or both none. */
export function fieldsEqual(one: Plant, other: Plant, field: FieldName): boolean {
  const [value, otherValue] = [fieldValue(one, field), fieldValue(other, field)];
  if (value === undefined || otherValue === undefined) return value === otherValue;
  return typeOf(field).equals(value, otherValue);
}

/** The UTF-16 code units of a plant as texts, at most: they limit the memory that it takes. */
export function countCodeUnits(plant: Plant): number {
  let codeUnits = 0;
  for (let index = 0; index < fieldNames.length; index++) {
    const value = plant[fieldNames[index] as FieldName];
    if (value !== undefined) codeUnits += (types[index] as FieldType<unknown>).size(value);
  }
  return codeUnits;
}

/** A plant of the examples, with other values where they are given. */
export function sample(overrides: Partial<Plant> = {}): Plant {
  const examples = Object.fromEntries(fieldNames.map((field) => [field, fields[field].example]));
  return { ...(examples as unknown as Plant), ...overrides };
}
