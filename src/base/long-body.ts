// Says whether a request has a long body: only few of those may wait, because Bun keeps what
// arrives of them in memory.

/**
 * Bun reads a body up to this size in one piece, and its whole length is reserved at once. Read
 * chunk by chunk, a body of 8 KB costs some 20 µs more.
 */
export const smallBytesMax = 16_384;

/** Whether a request has a body that may not have arrived with its head. */
export function hasLongBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length === null ? headers.has("transfer-encoding") : !(Number(length) <= smallBytesMax);
}
