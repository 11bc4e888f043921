// The types of plants, and the exact JSON of a NewPlant.

import { exactId, toExactJson } from "./exact-json.ts";
import { fields, type Plant } from "./plant-fields.ts";

export type { Plant };

/** The fields of a plant; those that are optional may also be undefined. */
type Fields = {
  readonly [Field in keyof Plant]: object extends Pick<Plant, Field>
    ? Plant[Field] | undefined
    : Plant[Field];
};

/**
 * A plant to create. Optional fields are absent or undefined for none. A string may be any, even
 * empty; the server rejects U+0000 and unpaired surrogates with 40003.
 */
export interface NewPlant extends Fields {
  /**
   * Any int64, also negative. A number must be a safe integer; use a bigint beyond that, such as
   * `9007199254740993n`.
   */
  readonly id: bigint | number;
}

/** Plants in the order of their ids. */
export interface PlantPage {
  readonly plants: readonly Plant[];
  /** What `after` is for the next page; undefined on the last one. */
  readonly next: bigint | undefined;
}

/**
 * The JSON of a plant with its exact id. Throws a TypeError for an inexact id; the server validates
 * everything else.
 */
export function newPlantJson(plant: NewPlant): string {
  const names = Object.keys(fields) as (keyof Plant)[];
  const values = Object.fromEntries(names.map((field) => [field, plant[field]]));
  return toExactJson({ id: exactId(plant.id), ...values });
}

type JsonType = "string" | "number" | "int64" | "boolean" | "array";

/** The Plant of a response with its known fields; undefined if it is not one. */
export function parsePlant(json: unknown): Plant | undefined {
  if (typeof json !== "object" || json === null) return undefined;
  const plant: Record<string, unknown> = {};
  for (const [field, { type, isRequired }] of Object.entries(fields)) {
    const value = (json as Readonly<Record<string, unknown>>)[field];
    if (value === undefined && !isRequired) continue;
    if (!isOfType(value, type)) return undefined;
    plant[field] = value;
  }
  return plant as unknown as Plant;
}

function isOfType(value: unknown, type: JsonType): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "int64") return typeof value === "number" || typeof value === "bigint";
  return typeof value === type;
}
