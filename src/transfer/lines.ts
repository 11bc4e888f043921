// Bytes to lines, whatever the size of the file.

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** Without its line end. Valid until the next line is asked for. */
  readonly bytes: Uint8Array;
}

/**
 * The lines of a stream, ended by LF or CRLF, the last one by the end of the stream too. Lines of nothing but
 * white space are counted and left out. Holds one chunk and the longest line in memory.
 */
export async function* linesOf(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  let number = 0;
  let rest: Uint8Array[] = [];
  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(lineFeed); end !== -1; end = chunk.indexOf(lineFeed, start)) {
      number++;
      const piece = chunk.subarray(start, end);
      const bytes = withoutLineEnd(rest.length === 0 ? piece : Buffer.concat([...rest, piece]));
      rest = [];
      start = end + 1;
      if (!isBlank(bytes)) yield { number, bytes };
    }
    // Copied: the source may use its buffer again for the next chunk.
    if (start < chunk.length) rest.push(chunk.slice(start));
  }
  const last = withoutLineEnd(Buffer.concat(rest));
  if (!isBlank(last)) yield { number: number + 1, bytes: last };
}

function withoutLineEnd(bytes: Uint8Array): Uint8Array {
  return bytes.at(-1) === carriageReturn ? bytes.subarray(0, -1) : bytes;
}

function isBlank(bytes: Uint8Array): boolean {
  return bytes.every((byte) => byte === 0x20 || byte === 0x09 || byte === carriageReturn);
}
