// Sends long bodies in pieces.

import { setImmediate as nextTurn } from "node:timers/promises";

/** Fits into the buffers of the kernel, so that a slow client holds little memory of this process. */
const pieceBytes = 16_384;

/** A response that is sent at the pace of its client, and lets others have their turns between pieces. */
export function respondInPieces(
  parts: readonly Uint8Array[],
  headers: Readonly<Record<string, string>>,
): Response {
  const left = pieces(parts);
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // Otherwise a client that reads fast gets the whole body in one turn.
        await nextTurn();
        const { done, value } = left.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  return new Response(body, { headers: { ...headers, "Content-Length": String(bytes) } });
}

/** Cuts long parts, and joins short ones, of which a description has thousands. */
function* pieces(parts: readonly Uint8Array[]): Generator<Uint8Array, undefined> {
  let joined: Uint8Array[] = [];
  let length = 0;
  for (const part of parts)
    for (let offset = 0; offset < part.length; ) {
      const taken = part.subarray(offset, offset + pieceBytes - length);
      joined.push(taken);
      length += taken.length;
      offset += taken.length;
      if (length < pieceBytes) continue;
      // A copy of each piece of a long part would be garbage of as many bytes as are sent.
      yield joined.length === 1 ? taken : Buffer.concat(joined);
      joined = [];
      length = 0;
    }
  if (length > 0) yield Buffer.concat(joined);
}
