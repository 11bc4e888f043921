// The types of plants, and the exact JSON of a NewPlant.

/** A created plant, as in the response: without its id. */
export interface Plant {
  readonly name: string;
  /** Absent if the plant was created without a tag; "" is a tag. */
  readonly tag?: string;
}

/** A plant to create. */
export interface NewPlant {
  /**
   * Any int64, also negative. A number must be a safe integer, because a larger one has already lost digits: use a bigint
   * for those, such as `9007199254740993n`.
   */
  readonly id: bigint | number;
  /** Any string, also an empty one. The server rejects U+0000 and unpaired surrogates with 40003. */
  readonly name: string;
  /** As the name; absent or undefined for no tag. */
  readonly tag?: string | undefined;
}

/** The JSON of a plant with its exact id. Throws a TypeError for an inexact id; the server validates everything else. */
export function newPlantJson({ id, name, tag }: NewPlant): string {
  // JSON.stringify throws for a bigint, so the id is added separately. It omits an undefined tag.
  const rest = JSON.stringify({ name, tag }).slice(1);
  return `{"id":${exactId(id)}${rest === "}" ? "" : ","}${rest}`;
}

function exactId(id: unknown): bigint {
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
