// The types of plants, and the exact JSON of a NewPlant.

import { exactId, toExactJson } from "./exact-json.ts";

/** The optional fields of a plant, which are texts; a test compares them with openapi.yaml. */
export const optionalFields = ["tag"] as const;
type OptionalField = (typeof optionalFields)[number];

/** A created plant, as in the response: without its id. A field that it was created without is absent; "" is a tag. */
export interface Plant extends Readonly<Partial<Record<OptionalField, string>>> {
  readonly name: string;
}

/** A plant to create. Optional fields are as the name; absent or undefined for none. */
export interface NewPlant extends Readonly<Partial<Record<OptionalField, string | undefined>>> {
  /**
   * Any int64, also negative. A number must be a safe integer, because a larger one has already lost digits: use a bigint
   * for those, such as `9007199254740993n`.
   */
  readonly id: bigint | number;
  /** Any string, also an empty one. The server rejects U+0000 and unpaired surrogates with 40003. */
  readonly name: string;
}

/** The JSON of a plant with its exact id. Throws a TypeError for an inexact id; the server validates everything else. */
export function newPlantJson({ id, name, ...others }: NewPlant): string {
  const optional = Object.fromEntries(optionalFields.map((field) => [field, others[field]]));
  return toExactJson({ id: exactId(id), name, ...optional });
}
