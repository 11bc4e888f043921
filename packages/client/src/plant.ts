// The types of plants, and the exact JSON of a NewPlant.

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
export function newPlantJson({ id, ...plant }: NewPlant): string {
  // JSON.stringify throws for a bigint, so the id is added separately. It writes these fields only, and no undefined one.
  const rest = JSON.stringify(plant, ["name", ...optionalFields]).slice(1);
  return `{"id":${exactId(id)}${rest === "}" ? "" : ","}${rest}`;
}

/** The id as a bigint. Throws a TypeError for a number that is not a safe integer. */
export function exactId(id: unknown): bigint {
  if (typeof id === "bigint") return id;
  if (typeof id !== "number") {
    throw new TypeError(
      `"id" must be a bigint or a safe integer, but is ${id === null ? "null" : `a ${typeof id}`}`,
    );
  }
  if (!Number.isSafeInteger(id)) {
    throw new TypeError(
      `"id" must be a bigint or a safe integer, but is the number ${id}; use a bigint for large ids, such as 9007199254740993n`,
    );
  }
  return BigInt(id);
}
