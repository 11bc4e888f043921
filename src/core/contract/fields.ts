// The fields of a plant besides its id: one table, over which statements, batches, formats, the console
// and the tests loop, and from which the types of plants are derived.

/** The value of a field of each type in a plant. An integer has 32 bits. */
interface FieldValues {
  readonly text: string;
  readonly integer: number;
  readonly boolean: boolean;
}

export type FieldType = keyof FieldValues;

export type FieldValue = FieldValues[FieldType];

/**
 * In the order of the columns of CSV files and of the members of responses. A test compares the table
 * with openapi.yaml and with the client's.
 */
export const fields = {
  name: { type: "text", isRequired: true },
  tag: { type: "text", isRequired: false },
} as const satisfies Readonly<Record<string, { readonly type: FieldType; readonly isRequired: boolean }>>;

type Fields = typeof fields;

export type FieldName = keyof Fields;

type RequiredField = {
  [Field in FieldName]: Fields[Field]["isRequired"] extends true ? Field : never;
}[FieldName];

type OptionalField = Exclude<FieldName, RequiredField>;

type TextField = { [Field in FieldName]: Fields[Field]["type"] extends "text" ? Field : never }[FieldName];

type ValueOf<Field extends FieldName> = FieldValues[Fields[Field]["type"]];

/** A plant as it is returned: without its id, and without the optional fields that were not sent. */
export type Plant = { readonly [Field in RequiredField]: ValueOf<Field> } & {
  readonly [Field in OptionalField]?: ValueOf<Field>;
};

/** What an engine returns for the column of a field: SQLite has bigint for numbers and booleans. */
export type ColumnValue = FieldValue | bigint | null;

/** The fields of a plant as the columns of a table: null for a field that it does not have. */
export type PlantColumns = {
  readonly [Field in FieldName]: Fields[Field]["type"] extends "text"
    ? Field extends RequiredField
      ? string
      : string | null
    : ColumnValue;
};

export const fieldNames = Object.keys(fields) as readonly FieldName[];

/** All but the name, which every plant has. */
export const otherFields = fieldNames.filter((field) => field !== "name");

export const textFields = fieldNames.filter((field): field is TextField => typeOf(field) === "text");

export const integerFields = fieldNames.filter((field) => typeOf(field) === "integer");

/** The type of a field; typed as any of them, so that code for each type compiles before there is a field of it. */
export function typeOf(field: FieldName): FieldType {
  return fields[field].type;
}

export function isRequired(field: FieldName): boolean {
  return fields[field].isRequired;
}

/** UTF-16 code units that `String(value)` has at most for a value that is not a text: that of -2147483648. */
const otherCodeUnitsMax = 11;

const nonTextFields = fieldNames.filter((field) => typeOf(field) !== "text");

/** The UTF-16 code units of a plant as texts, at most: they limit the memory that it takes. */
export function countCodeUnits(plant: Plant): number {
  let codeUnits = 0;
  for (const field of textFields) codeUnits += plant[field]?.length ?? 0;
  for (const field of nonTextFields) if (plant[field] !== undefined) codeUnits += otherCodeUnitsMax;
  return codeUnits;
}

/** The value of a column, or of a text that `String(value)` has made of a value. */
export function toFieldValue(field: FieldName, value: FieldValue | bigint): FieldValue {
  const type = typeOf(field);
  switch (type) {
    case "text":
      return value as string;
    case "integer":
      // JSON's -0 is 0 in every engine.
      return Number(value) + 0;
    case "boolean":
      // PostgreSQL's COPY has t, and SQLite 1.
      return value === true || value === "true" || value === "t" || value === 1n || value === 1;
    default:
      return type satisfies never;
  }
}

/** The value that a cell of a CSV file denotes; undefined if it is not of the type of the field. */
export function parseFieldText(field: FieldName, text: string): FieldValue | undefined {
  const type = typeOf(field);
  switch (type) {
    case "text":
      return text;
    case "integer":
      return /^-?[0-9]{1,15}$/.test(text) ? toFieldValue(field, text) : undefined;
    case "boolean":
      return /^(?:true|false)$/i.test(text) ? /^t/i.test(text) : undefined;
    default:
      return type satisfies never;
  }
}
