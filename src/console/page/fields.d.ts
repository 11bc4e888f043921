export type FieldType = "text" | "integer" | "boolean";

/** The fields of a plant in their order. The server makes fields.js from its own table. */
export declare const fields: Readonly<
  Record<string, { readonly type: FieldType; readonly isRequired: boolean }>
>;
