// Ids that have lost no digits.

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
