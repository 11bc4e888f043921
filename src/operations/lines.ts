// Splits a stream of bytes at line ends, in bounded memory.

import { reportedBytes } from "./import-record.ts";

const lineFeed = 0x0a;

/** Whole lines, many at a time, with their line ends; the last line may have none. */
export interface WholeLines {
  readonly kind: "lines";
  readonly bytes: Uint8Array;
}

/** A line that is longer than the limit, and was skipped. */
export interface TooLongLine {
  readonly kind: "recordTooLong";
  /** Its start. */
  readonly bytes: Uint8Array;
}

/** The lines of a stream. Holds one chunk and at most `lineBytesMax` of a line in memory. */
export async function* splitLines(
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
    // A copy, because the source may reuse its buffer. Buffer.slice would not copy.
    if (start < chunk.length) rest.push(new Uint8Array(chunk.subarray(start)));
    restBytes += chunk.length - start;
    if (restBytes > lineBytesMax) {
      yield { kind: "recordTooLong", bytes: Buffer.concat(rest).subarray(0, reportedBytes) };
      rest = [];
      restBytes = 0;
      isSkipping = true;
    }
  }
  if (restBytes > 0) yield { kind: "lines", bytes: Buffer.concat(rest) };
}
