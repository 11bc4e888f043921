// Plants as a caller has them, and their exact JSON.

/** A plant as the interface answers it: it has no id. */
export interface Plant {
  readonly name: string;
  /** The type of the plant. Left out if it was created without one; "" is a tag. */
  readonly tag?: string;
}

/** A plant to be created. */
export interface NewPlant {
  /**
   * Any int64, negative too. A number must be a safe integer, because a larger one has lost digits already: give
   * those as a bigint, such as `9007199254740993n`.
   */
  readonly id: bigint | number;
  /** Any string, empty too. The server refuses U+0000 and unpaired surrogates with 40003. */
  readonly name: string;
  /** As the name. Left out, or undefined, for none. */
  readonly tag?: string | undefined;
}

/**
 * The JSON of a plant, its id exact to the last digit. Throws a TypeError for an id that may not be the one that was
 * meant; everything else is the server's to judge.
 */
export function newPlantText({ id, name, tag }: NewPlant): string {
  // JSON.stringify refuses a bigint, so the id stands apart. What is undefined is left out.
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
      `"id" must be a bigint or a safe integer, but is the number ${id}; give large ids as a bigint, such as 9007199254740993n`,
    );
  }
  return BigInt(id);
}
