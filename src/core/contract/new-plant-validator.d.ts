/** What ajv finds wrong; `instancePath` is "" for the value as a whole, or a slash and the name of a field. */
export interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  /** Of the keyword "required": the field. */
  readonly params: { readonly missingProperty?: string };
  readonly message: string;
}

/** Whether a value matches the schema NewPlant. If not, `errors` has all errors until the next call. */
export const validate: {
  (value: unknown): boolean;
  errors: readonly SchemaError[] | null;
};
