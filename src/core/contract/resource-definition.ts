// The definition of a resource: its fields, and the roles that some of them have for its surroundings.

import type { FieldType } from "./field-types.ts";

/** A field with an example, which documents and probes use. */
export interface Field<Value, IsRequired extends boolean = boolean> {
  readonly type: FieldType<Value>;
  readonly isRequired: IsRequired;
  readonly example: Value;
  /** The value for plants that were stored before a required field was added. */
  readonly fill?: Value | undefined;
}

export function required<Value>(
  type: FieldType<Value>,
  example: Value,
  { fill }: { readonly fill?: Value } = {},
): Field<Value, true> {
  return { type, isRequired: true, example, fill };
}

export function optional<Value>(type: FieldType<Value>, example: Value): Field<Value, false> {
  return { type, isRequired: false, example };
}

export type Fields = Readonly<Record<string, Field<unknown>>>;

/** The values of all fields; those that are optional may be absent. */
export type FieldValues<Declared extends Fields> = {
  readonly [Name in keyof Declared as Declared[Name]["isRequired"] extends true ? Name : never]: ValueOf<
    Declared[Name]
  >;
} & {
  readonly [Name in keyof Declared as Declared[Name]["isRequired"] extends true ? never : Name]?: ValueOf<
    Declared[Name]
  >;
};

type ValueOf<Declared> = Declared extends Field<infer Value> ? Value : never;

interface Definition<Declared extends Fields> {
  readonly fields: Declared;
  /** The required text that lists show first. */
  readonly title: keyof Declared & string;
  /** The optional text by which lists, charts and bulk edits group; without it they do not. */
  readonly group?: keyof Declared & string;
}

export function defineResource<const Declared extends Fields>(
  definition: Definition<Declared>,
): Definition<Declared> {
  return definition;
}
