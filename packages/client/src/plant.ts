// The types of plants, and the exact JSON of a NewPlant.

import { exactId, toExactJson } from "./exact-json.ts";

interface FieldValues {
  readonly text: string;
  readonly integer: number;
  readonly boolean: boolean;
}

/** The fields of a plant besides its id; a test compares them with openapi.yaml. */
export const fields = {
  name: { type: "text", isRequired: true },
  tag: { type: "text", isRequired: false },
} as const satisfies Readonly<
  Record<string, { readonly type: keyof FieldValues; readonly isRequired: boolean }>
>;

type FieldName = keyof typeof fields;

type Values<IsRequired extends boolean> = {
  readonly [Field in FieldName as (typeof fields)[Field]["isRequired"] extends IsRequired
    ? Field
    : never]: FieldValues[(typeof fields)[Field]["type"]];
};

/** A created plant, as in the response: without its id. A missing field is absent; "" is a tag. */
export interface Plant extends Values<true>, Partial<Values<false>> {}

type OptionalValues = { readonly [Field in keyof Values<false>]?: Values<false>[Field] | undefined };

/** A plant to create. Optional fields are absent or undefined for none. */
export interface NewPlant extends Values<true>, OptionalValues {
  /**
   * Any int64, also negative. A number must be a safe integer; use a bigint beyond that, such as
   * `9007199254740993n`.
   */
  readonly id: bigint | number;
  /** Any string, even empty. The server rejects U+0000 and unpaired surrogates with 40003. */
  readonly name: string;
}

/**
 * The JSON of a plant with its exact id. Throws a TypeError for an inexact id; the server validates
 * everything else.
 */
export function newPlantJson(plant: NewPlant): string {
  const names = Object.keys(fields) as FieldName[];
  const values = Object.fromEntries(names.map((field) => [field, plant[field]]));
  return toExactJson({ id: exactId(plant.id), ...values });
}

const javaScriptTypes = { text: "string", integer: "number", boolean: "boolean" } as const;

/** The Plant of a response with its known fields; undefined if it is not one. */
export function parsePlant(json: Readonly<Record<string, unknown>>): Plant | undefined {
  const plant: Record<string, unknown> = {};
  for (const [field, { type, isRequired }] of Object.entries(fields)) {
    const value = json[field];
    if (value === undefined && !isRequired) continue;
    if (typeof value !== javaScriptTypes[type]) return undefined;
    plant[field] = value;
  }
  return plant as unknown as Plant;
}
