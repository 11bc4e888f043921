/** An error of ajv; `instancePath` is "" for the whole value, or a slash and a field's name. */
export interface SchemaError {
  readonly instancePath: string;
  readonly keyword: string;
  /** The missing field, for the keyword "required". */
  readonly params: { readonly missingProperty?: string };
  readonly message: string;
}

/** Whether a value matches the schema NewPlant. If not, `errors` has all errors. */
export const validate: {
  (value: unknown): boolean;
  errors: readonly SchemaError[] | null;
};
