// NDJSON: a line is a body as the API takes it.

import { parseNewPlant, parseNewPlantJson } from "../contract/plant.ts";
import { decodeUtf8 } from "../contract/utf8.ts";
import { type ImportRecord, isLongerThan, recordTooLong, reportText } from "./import-record.ts";
import { linesOf } from "./lines.ts";

const lineFeed = 0x0a;
const openingBrace = 0x7b;
const byteOrderMark = 0xfeff;

/** The entries of an NDJSON stream, as many at a time as came with one chunk. Blank lines are counted and left out. */
export async function* ndjsonEntries(
  chunks: AsyncIterable<Uint8Array>,
  recordBytesMax: number,
): AsyncGenerator<readonly ImportRecord[]> {
  let line = 1;
  for await (const { kind, bytes } of linesOf(chunks, recordBytesMax)) {
    if (kind === "recordTooLong") {
      yield [{ line, text: reportText(bytes), plant: recordTooLong(recordBytesMax) }];
      line++;
      continue;
    }
    const entries: ImportRecord[] = [];
    line = readLines(bytes, line, recordBytesMax, entries);
    yield entries;
  }
}

/** Adds the entries of whole lines, and gives the number of the next line. */
function readLines(
  bytes: Uint8Array,
  firstLine: number,
  recordBytesMax: number,
  entries: ImportRecord[],
): number {
  // Decoding many lines at once costs a tenth of decoding each.
  const text = decodeUtf8(bytes, "kept");
  if (text === undefined) return readLinesSingly(bytes, firstLine, recordBytesMax, entries);
  let line = firstLine;
  for (let start = 0; start < text.length; line++) {
    const lineEnd = text.indexOf("\n", start);
    const end = lineEnd === -1 ? text.length : lineEnd;
    const entry = entryOf(text.slice(start, text[end - 1] === "\r" ? end - 1 : end), line, recordBytesMax);
    if (entry !== undefined) entries.push(entry);
    start = end + 1;
  }
  return line;
}

/** The same where at least one line is not UTF-8. */
function readLinesSingly(
  bytes: Uint8Array,
  firstLine: number,
  recordBytesMax: number,
  entries: ImportRecord[],
): number {
  let line = firstLine;
  for (let start = 0; start < bytes.length; line++) {
    const lineEnd = bytes.indexOf(lineFeed, start);
    const end = lineEnd === -1 ? bytes.length : lineEnd;
    const own = bytes.subarray(start, end);
    if (decodeUtf8(own) === undefined)
      entries.push({ line, text: reportText(own).replace(/\r$/, ""), plant: parseNewPlant(own) });
    else readLines(own, line, recordBytesMax, entries);
    start = end + 1;
  }
  return line;
}

function entryOf(text: string, line: number, recordBytesMax: number): ImportRecord | undefined {
  if (isBlank(text)) return undefined;
  if (isLongerThan(text, recordBytesMax)) return { line, text, plant: recordTooLong(recordBytesMax) };
  // A body may start with a byte order mark, and so may a line.
  const json = text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text;
  return { line, text, plant: parseNewPlantJson(json) };
}

function isBlank(text: string): boolean {
  // Almost every line starts with a brace: looking at one character first costs nothing.
  return text.charCodeAt(0) !== openingBrace && /^[ \t\r]*$/.test(text);
}
