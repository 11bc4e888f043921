// The table of a plant's fields except its id. Statements, batches, formats, the console and the
// tests loop over it, and the types of plants derive from it.

/** The value of a field of each type in a plant. An integer has 32 bits. */
interface FieldValues {
  readonly text: string;
  readonly integer: number;
  readonly boolean: boolean;
}

export type FieldType = keyof FieldValues;

export type FieldValue = FieldValues[FieldType];

/**
 * The fields in the order of CSV columns and of members of responses. A test compares the table
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

/**
 * A plant as it is returned: without its id, and without the optional fields that were not sent.
 */
export type Plant = { readonly [Field in RequiredField]: ValueOf<Field> } & {
  readonly [Field in OptionalField]?: ValueOf<Field>;
};

/** An engine's value for the column of a field: SQLite has bigint for numbers and booleans. */
type ColumnValue = FieldValue | bigint | null;

/** The fields of a plant as the columns of a table: null for a field that it does not have. */
export type PlantColumns = {
  readonly [Field in FieldName]: Fields[Field]["type"] extends "text"
    ? Field extends RequiredField
      ? string
      : string | null
    : ColumnValue;
};

export const fieldNames = Object.keys(fields) as readonly FieldName[];

/** All fields but the name, which every plant has. */
export const otherFields = fieldNames.filter((field) => field !== "name");

export const textFields = fieldNames.filter((field): field is TextField => typeOf(field) === "text");

export const integerFields = fieldNames.filter((field) => typeOf(field) === "integer");

/** The type of a field, widened so that code for a type compiles before a field has it. */
export function typeOf(field: FieldName): FieldType {
  return fields[field].type;
}

export function isRequired(field: FieldName): boolean {
  return fields[field].isRequired;
}

/** The longest `String(value)` of a value that is not a text, in UTF-16 code units: -2147483648. */
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
