// Reads the records of a file that arrives in chunks of any size. Holds one chunk and at most
// recordBytesMax of a record in memory.

import { ApiError } from "../core/contract/errors.ts";
import type { NewPlant } from "../core/contract/plant.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import { OperatorError } from "../core/operator-error.ts";

export interface ImportRecord {
  /** The number of its first line, from 1. */
  readonly line: number;
  /** Its text in the file, without the line end. Bytes that are not UTF-8 are U+FFFD. */
  readonly text: string;
  readonly plant: NewPlant | ApiError;
}

/** The syntax of a file, and the plants of its records. */
export interface RecordFormat<Parsed> {
  /** Whether a line end between quotes does not end a record. */
  readonly hasQuotes: boolean;
  /**
   * Calls `onRecord` for each record of a text, which ends with a line end or with the file. Returns
   * the index of a last record that does not end within the text; the text's length if there is none.
   */
  parse(text: string, onRecord: (parsed: Parsed, start: number, end: number) => void): number;
  /** A record that is not UTF-8. */
  invalid(bytes: Uint8Array): Parsed;
  /** Returns undefined for a blank line and a header. */
  toPlant(parsed: Parsed, text: string): ImportRecord["plant"] | undefined;
  /** Throws an OperatorError for a record that is too long, if it is the header. */
  assertNoHeader?(line: number): void;
  /** Throws an OperatorError if there was no header. */
  assertHeader?(): void;
}

/**
 * Yields the records of a stream, as many at a time as a chunk completes. Throws an OperatorError if
 * a quote is open at the end.
 */
export async function* recordsOf<Parsed>(
  chunks: AsyncIterable<Uint8Array>,
  format: RecordFormat<Parsed>,
  recordBytesMax: number,
): AsyncGenerator<readonly ImportRecord[]> {
  const reader = new RecordReader(format, recordBytesMax);
  for await (const chunk of chunks) yield reader.read(chunk);
  yield reader.readRest();
  reader.assertComplete();
}

/** The maximum UTF-8 length of a UTF-16 code unit. */
const bytesPerCodeUnitMax = 3;

/** Characters of a record that is too long in the report of rejected records. */
const reportedLength = 1_024;

/** Enough bytes for the reported start of a record that is too long. */
const reportedBytes = bytesPerCodeUnitMax * reportedLength;

const lineFeed = 0x0a;
const quote = 0x22;
const lineEnd = Uint8Array.of(lineFeed);
const byteOrderMark = Buffer.from("\ufeff");

/** A record over the limit, of which only the start is kept. */
interface SkippedRecord {
  isInQuotes: boolean;
  readonly start: Uint8Array;
  readonly line: number;
}

class RecordReader<Parsed> {
  readonly #format: RecordFormat<Parsed>;
  readonly #recordBytesMax: number;
  /** The line of the next record. */
  #line = 1;
  /** Bytes of a record that has not ended. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** A record that spans many chunks is parsed again only when its size has doubled. */
  #parseFromBytes = 0;
  #skipped: SkippedRecord | undefined;

  constructor(format: RecordFormat<Parsed>, recordBytesMax: number) {
    this.#format = format;
    this.#recordBytesMax = recordBytesMax;
  }

  /** Returns the records that a chunk completes. */
  read(chunk: Uint8Array): ImportRecord[] {
    const records: ImportRecord[] = [];
    const rest = chunk.subarray(this.#skip(chunk, records));
    this.#pendingBytes += rest.length;
    if (this.#pendingBytes < this.#parseFromBytes) {
      // A copy, because the source may reuse its buffer. Buffer.slice would not copy.
      this.#pending.push(new Uint8Array(rest));
      return records;
    }
    const bytes = this.#pending.length === 0 ? rest : Buffer.concat([...this.#pending, rest]);
    const parsed = this.#parseRecords(bytes.subarray(0, bytes.lastIndexOf(lineFeed) + 1), records);
    this.#keep(new Uint8Array(bytes.subarray(parsed)));
    return records;
  }

  /** Returns the records that the end of the stream completes. */
  readRest(): ImportRecord[] {
    this.#parseFromBytes = 0;
    return this.read(lineEnd);
  }

  /** Throws an OperatorError unless the stream ended with a record, and had a header. */
  assertComplete(): void {
    if (this.#pendingBytes > 0 || this.#skipped !== undefined) {
      throw new OperatorError(
        `the record in line ${this.#skipped?.line ?? this.#line} does not end: a quote is not closed; correct it, and import the file again to continue`,
      );
    }
    this.#format.assertHeader?.();
  }

  /** Keeps the bytes of a record that has not ended, or its start if it is too long. */
  #keep(bytes: Uint8Array): void {
    const isTooLong = bytes.length > this.#recordBytesMax;
    this.#pending = isTooLong || bytes.length === 0 ? [] : [bytes];
    this.#pendingBytes = isTooLong ? 0 : bytes.length;
    this.#parseFromBytes = Math.min(2 * this.#pendingBytes, this.#recordBytesMax + 1);
    if (!isTooLong) return;
    this.#format.assertNoHeader?.(this.#line);
    this.#skipped = { isInQuotes: false, start: bytes.slice(0, reportedBytes), line: this.#line };
    this.#skip(bytes, []);
  }

  /** Skips a record that is too long, to a line end after an even number of quotes. */
  #skip(bytes: Uint8Array, records: ImportRecord[]): number {
    const skipped = this.#skipped;
    if (skipped === undefined) return 0;
    for (let at = 0; at < bytes.length; at++) {
      if (bytes[at] === quote && this.#format.hasQuotes) skipped.isInQuotes = !skipped.isInQuotes;
      if (bytes[at] !== lineFeed) continue;
      this.#line++;
      if (skipped.isInQuotes) continue;
      const { line, start } = skipped;
      records.push(tooLongRecord(line, reportText(start), this.#recordBytesMax));
      this.#skipped = undefined;
      return at + 1;
    }
    return bytes.length;
  }

  /** Adds the complete records, and returns the number of their bytes. */
  #parseRecords(bytes: Uint8Array, records: ImportRecord[]): number {
    const markBytes = this.#line === 1 && hasByteOrderMark(bytes) ? byteOrderMark.length : 0;
    const own = bytes.subarray(markBytes);
    // Decoding many records at once takes a tenth of the time of decoding each.
    const text = decodeUtf8(own, "kept");
    if (text === undefined) return markBytes + this.#parseRecordsOneByOne(own, records);
    const end = this.#format.parse(text, (parsed, start, recordEnd) =>
      this.#add(parsed, text.slice(start, recordEnd), records),
    );
    return end === text.length ? bytes.length : markBytes + Buffer.byteLength(text.slice(0, end));
  }

  /** #parseRecords for bytes that are not UTF-8: in Latin-1 each byte is a character. */
  #parseRecordsOneByOne(bytes: Uint8Array, records: ImportRecord[]): number {
    const characters = Buffer.from(bytes).toString("latin1");
    return this.#format.parse(characters, (_, start, end) => {
      const own = bytes.subarray(start, end);
      const text = decodeUtf8(own, "kept");
      if (text === undefined)
        this.#add(this.#format.invalid(own), reportText(own), records, own.length > this.#recordBytesMax);
      else if (text === "") this.#line++;
      else this.#format.parse(text, (parsed) => this.#add(parsed, text, records));
    });
  }

  #add(
    parsed: Parsed,
    text: string,
    records: ImportRecord[],
    isTooLong = isLongerThan(text, this.#recordBytesMax),
  ): void {
    const line = this.#line;
    this.#line += countLines(text);
    if (isTooLong) {
      this.#format.assertNoHeader?.(line);
      records.push(tooLongRecord(line, text, this.#recordBytesMax));
      return;
    }
    const plant = this.#format.toPlant(parsed, text);
    if (plant !== undefined) records.push({ line, text, plant });
  }
}

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return byteOrderMark.every((byte, index) => bytes[index] === byte);
}

function countLines(text: string): number {
  let lines = 1;
  for (let at = text.indexOf("\n"); at !== -1; at = text.indexOf("\n", at + 1)) lines++;
  return lines;
}

/** Whether a text is longer than `bytesMax` in UTF-8. */
function isLongerThan(text: string, bytesMax: number): boolean {
  return text.length * bytesPerCodeUnitMax > bytesMax && Buffer.byteLength(text) > bytesMax;
}

/**
 * Rejects a record that is longer than a request body may be.
 *
 * @param text The record, or at least its first reportedBytes decoded.
 */
function tooLongRecord(line: number, text: string, recordBytesMax: number): ImportRecord {
  // Not more than any chunk that shows the record to be too long contains of it.
  const start = Buffer.from(text.slice(0, reportedLength)).subarray(0, recordBytesMax);
  return {
    line,
    text: reportText(start),
    plant: new ApiError(
      "contentTooLarge",
      `The record is longer than ${recordBytesMax} bytes: shorten it, close a quote that is open in CSV, or raise --body-bytes-max.`,
    ),
  };
}

const lossyDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes any bytes for the report of rejected records. */
function reportText(bytes: Uint8Array): string {
  return lossyDecoder.decode(bytes);
}
