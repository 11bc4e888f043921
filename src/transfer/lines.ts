// Bytes to whole lines, whatever the size of the file.

const lineFeed = 0x0a;

/** How much of a line that is too long is kept for the report of it. */
const keptBytes = 1_024;

/** Whole lines, many at a time, each with its line end; the last line of all may have none. */
export interface WholeLines {
  readonly kind: "lines";
  readonly bytes: Uint8Array;
}

/** One line that is longer than what may be held in memory, and was skipped. */
export interface TooLongLine {
  readonly kind: "recordTooLong";
  /** Its start. */
  readonly bytes: Uint8Array;
}

/** The lines of a stream, ended by LF. Holds one chunk and a line of `lineBytesMax` in memory. */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  lineBytesMax: number,
): AsyncGenerator<WholeLines | TooLongLine> {
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  let isSkipping = false;
  for await (const chunk of chunks) {
    let start = 0;
    if (isSkipping) {
      start = chunk.indexOf(lineFeed) + 1;
      if (start === 0) continue;
      isSkipping = false;
    }
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end > start) {
      const bytes = chunk.subarray(start, end);
      yield { kind: "lines", bytes: rest.length === 0 ? bytes : Buffer.concat([...rest, bytes]) };
      rest = [];
      restBytes = 0;
      start = end;
    }
    // Copied: the source may use its buffer again for the next chunk. The slice of a Buffer would be no copy.
    if (start < chunk.length) rest.push(new Uint8Array(chunk.subarray(start)));
    restBytes += chunk.length - start;
    if (restBytes > lineBytesMax) {
      yield { kind: "recordTooLong", bytes: Buffer.concat(rest).subarray(0, keptBytes) };
      rest = [];
      restBytes = 0;
      isSkipping = true;
    }
  }
  if (restBytes > 0) yield { kind: "lines", bytes: Buffer.concat(rest) };
}
