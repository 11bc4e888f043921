// Says whether a request has a long body: only few of those may wait, because Bun keeps what
// arrives of them in memory.

/** A shorter body usually arrives with the head of its request. */
const smallBytesMax = 16_384;

/** Whether a request has a body that may not have arrived with its head. */
export function hasLongBody(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length === null ? headers.has("transfer-encoding") : !(Number(length) <= smallBytesMax);
}
