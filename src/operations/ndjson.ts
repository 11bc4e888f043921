// NDJSON: each line is a request body of the API.

import { parseNewPlant, parseNewPlantJson } from "../core/contract/plant.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import {
  type ImportRecord,
  isLongerThan,
  reportedBytes,
  reportText,
  tooLongRecord,
} from "./import-record.ts";

const lineFeed = 0x0a;
const openingBrace = 0x7b;
const byteOrderMark = 0xfeff;

/**
 * The records of an NDJSON stream, as a chunk completes them. Blank lines are skipped. Holds one
 * chunk and at most `recordBytesMax` of a line in memory.
 */
export async function* ndjsonRecords(
  chunks: AsyncIterable<Uint8Array>,
  { recordBytesMax }: { readonly recordBytesMax: number },
): AsyncGenerator<readonly ImportRecord[]> {
  let line = 1;
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  let isSkipping = false;
  const readAll = (bytes: Uint8Array) => {
    const records: ImportRecord[] = [];
    line = readLines(bytes, line, recordBytesMax, records);
    rest = [];
    restBytes = 0;
    return records;
  };
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
      yield readAll(rest.length === 0 ? bytes : Buffer.concat([...rest, bytes]));
      start = end;
    }
    // A copy, because the source may reuse its buffer. Buffer.slice would not copy.
    if (start < chunk.length) rest.push(new Uint8Array(chunk.subarray(start)));
    restBytes += chunk.length - start;
    if (restBytes > recordBytesMax) {
      const text = reportText(Buffer.concat(rest).subarray(0, reportedBytes));
      yield [tooLongRecord(line++, text, recordBytesMax)];
      rest = [];
      restBytes = 0;
      isSkipping = true;
    }
  }
  if (restBytes > 0) yield readAll(Buffer.concat(rest));
}

/** Adds the records of whole lines, and returns the number of the next line. */
function readLines(
  bytes: Uint8Array,
  firstLine: number,
  recordBytesMax: number,
  records: ImportRecord[],
): number {
  // Decoding many lines at once takes a tenth of the time of decoding each.
  const text = decodeUtf8(bytes, "kept");
  if (text === undefined) return readLinesOneByOne(bytes, firstLine, recordBytesMax, records);
  let line = firstLine;
  for (let start = 0; start < text.length; line++) {
    const lineEnd = text.indexOf("\n", start);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const record = toRecord(text.slice(start, text[end - 1] === "\r" ? end - 1 : end), line, recordBytesMax);
    if (record !== undefined) records.push(record);
    start = end + 1;
  }
  return line;
}

/** readLines for bytes of which at least one line is not UTF-8. */
function readLinesOneByOne(
  bytes: Uint8Array,
  firstLine: number,
  recordBytesMax: number,
  records: ImportRecord[],
): number {
  let line = firstLine;
  for (let start = 0; start < bytes.length; line++) {
    const lineEnd = bytes.indexOf(lineFeed, start);
    const end = lineEnd === -1 ? bytes.length : lineEnd;
    const own = bytes.subarray(start, end);
    if (decodeUtf8(own) === undefined)
      records.push({ line, text: reportText(own).replace(/\r$/, ""), plant: parseNewPlant(own) });
    else readLines(own, line, recordBytesMax, records);
    start = end + 1;
  }
  return line;
}

function toRecord(text: string, line: number, recordBytesMax: number): ImportRecord | undefined {
  if (isBlank(text)) return undefined;
  if (isLongerThan(text, recordBytesMax)) return tooLongRecord(line, text, recordBytesMax);
  // Like a request body, a line may start with a byte order mark.
  const json = text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text;
  return { line, text, plant: parseNewPlantJson(json) };
}

function isBlank(text: string): boolean {
  // Almost every line starts with a brace, and checking one character first is free.
  return text.charCodeAt(0) !== openingBrace && /^[ \t\r]*$/.test(text);
}
