// Reads the records of a file that arrives in chunks of any size. Holds one chunk, and the part of
// a record that has arrived.

import type { Plant } from "../core/contract/contract.ts";
import { ApiError } from "../core/contract/errors.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { EncodingGuess } from "./encoding.ts";

export interface ImportRecord {
  /** The number of its first line, from 1. */
  readonly line: number;
  /** Where it begins in that line, from 1, if records of the file may begin anywhere. */
  readonly column?: number;
  /** Its text in the file, without the line end. Bytes that are not UTF-8 are U+FFFD. */
  readonly text: string;
  /** Its bytes, if they are not UTF-8. */
  readonly bytes?: Uint8Array;
  readonly plant: Plant | ApiError;
}

/** How records are read. */
export interface RecordOptions {
  readonly recordBytesMax: number;
  /** Is shown all bytes. */
  readonly encoding?: EncodingGuess | undefined;
}

/** The syntax of a file, and the plants of its records. */
export interface RecordFormat<Parsed> {
  /**
   * Calls `onRecord` for each record of a text, which ends with a line end or with the file.
   * Returns the index of a last record that does not end within the text; the text's length if
   * there is none.
   */
  parse(text: string, onRecord: (parsed: Parsed, start: number, end: number) => void): number;
  /** A record that is not UTF-8. */
  invalid(bytes: Uint8Array): Parsed;
  /** Returns undefined for a blank line and a header. */
  toPlant(parsed: Parsed, text: string): ImportRecord["plant"] | undefined;
  /** Throws an OperatorError if there was no header. */
  assertHeader?(): void;
  /** The number of bytes up to the last line end that no further bytes can continue. */
  completeBytes(bytes: Uint8Array): number;
  /** The line ends in the text of a record. */
  countLineEnds(text: string): number;
}

/**
 * The bytes of a record that are held. One that is longer than a request's body is rejected; one
 * that is longer than this ends the import: a missing quote of CSV, or bracket of JSON, makes one
 * of many.
 */
export function heldBytesMaxOf(recordBytesMax: number): number {
  return Math.max(16 * 2 ** 20, recordBytesMax);
}

/**
 * Yields the records of a stream, as many at a time as a chunk completes. Throws an OperatorError
 * if a record is too long to be held, or a quote is open at the end.
 */
export async function* recordsOf<Parsed>(
  chunks: AsyncIterable<Uint8Array>,
  format: RecordFormat<Parsed>,
  options: RecordOptions,
): AsyncGenerator<readonly ImportRecord[]> {
  const reader = new RecordReader(format, options);
  for await (const chunk of chunks) {
    yield reader.read(chunk);
    reader.assertHeld();
  }
  yield reader.readRest();
  reader.assertComplete();
}

const lineEnd = Buffer.from("\n");
const byteOrderMark = Buffer.from("\ufeff");

class RecordReader<Parsed> {
  readonly #format: RecordFormat<Parsed>;
  readonly #recordBytesMax: number;
  readonly #heldBytesMax: number;
  readonly #encoding: EncodingGuess | undefined;
  /** The line of the next record. */
  #line = 1;
  /** Bytes of a record that has not ended. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** A record that spans many chunks is parsed again only when its size has doubled. */
  #parseFromBytes = 0;

  constructor(format: RecordFormat<Parsed>, { recordBytesMax, encoding }: RecordOptions) {
    this.#format = format;
    this.#recordBytesMax = recordBytesMax;
    this.#heldBytesMax = heldBytesMaxOf(recordBytesMax);
    this.#encoding = encoding;
  }

  /** Returns the records that a chunk completes. */
  read(chunk: Uint8Array): ImportRecord[] {
    const records: ImportRecord[] = [];
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes < this.#parseFromBytes) {
      // A copy, because the source may reuse its buffer. Buffer.slice would not copy.
      this.#pending.push(new Uint8Array(chunk));
      return records;
    }
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([...this.#pending, chunk]);
    const parsed = this.#parseRecords(bytes.subarray(0, this.#format.completeBytes(bytes)), records);
    const rest = new Uint8Array(bytes.subarray(parsed));
    this.#pending = rest.length === 0 ? [] : [rest];
    this.#pendingBytes = rest.length;
    this.#parseFromBytes = Math.min(2 * rest.length, this.#heldBytesMax + 1);
    return records;
  }

  /** Returns the records that the end of the stream completes. */
  readRest(): ImportRecord[] {
    this.#parseFromBytes = 0;
    return this.read(lineEnd);
  }

  /** Throws an OperatorError unless the stream ended with a record, and had a header. */
  assertComplete(): void {
    if (this.#pendingBytes > 0) {
      throw new OperatorError(
        `the record in line ${this.#line} does not end: a quote is not closed; correct it, and import the file again to continue`,
      );
    }
    this.#format.assertHeader?.();
  }

  /** Throws an OperatorError if a record that has not ended is too long to be held. */
  assertHeld(): void {
    if (this.#pendingBytes <= this.#heldBytesMax) return;
    throw new OperatorError(
      `the record in line ${this.#line} is longer than ${this.#heldBytesMax} bytes: shorten it, or close a quote that is open in CSV, and import the file again to continue`,
    );
  }

  /** Adds the complete records, and returns the number of their bytes. */
  #parseRecords(bytes: Uint8Array, records: ImportRecord[]): number {
    const markBytes = this.#line === 1 && hasByteOrderMark(bytes) ? byteOrderMark.length : 0;
    const own = bytes.subarray(markBytes);
    // Decoding many records at once takes a tenth of the time of decoding each.
    const text = decodeUtf8(own, "kept");
    if (text === undefined) return markBytes + this.#parseRecordsOneByOne(own, records);
    this.#encoding?.add(own, text);
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
      this.#encoding?.add(own, text);
      if (text === undefined)
        this.#add(this.#format.invalid(own), lossyText(own), records, new Uint8Array(own));
      else if (text === "") this.#line++;
      else this.#format.parse(text, (parsed) => this.#add(parsed, text, records));
    });
  }

  #add(parsed: Parsed, text: string, records: ImportRecord[], bytes?: Uint8Array): void {
    const line = this.#line;
    this.#line += 1 + this.#format.countLineEnds(text);
    const plant = this.#format.toPlant(parsed, text);
    if (plant === undefined) return;
    const record = bytes === undefined ? { line, text, plant } : { line, text, bytes, plant };
    records.push(toRecord(record, this.#recordBytesMax));
  }
}

/** Rejects a record that is too long, and lets the error of another say where in the file it is. */
export function toRecord(record: ImportRecord, recordBytesMax: number): ImportRecord {
  if (isLongerThan(record.text, recordBytesMax)) return { ...record, plant: tooLong(recordBytesMax) };
  if (!(record.plant instanceof ApiError)) return record;
  const { code, message } = record.plant;
  const own = message.replace(/^The body /, "The record ");
  const placed = code === "invalidJson" ? inFile(own, record) : own;
  return { ...record, plant: new ApiError(code, placed) };
}

/** An error in the text of a record, with its place in the file. */
export function inFile(error: string, record: Pick<ImportRecord, "line" | "column">): string {
  return error
    .replace(/line (\d+), column (\d+)/, (_, line: string, column: string) => {
      const before = line === "1" ? (record.column ?? 1) - 1 : 0;
      return `line ${record.line - 1 + Number(line)}, column ${before + Number(column)}`;
    })
    .replace(/the end of the body(?=\.?$)/, "its end");
}

function tooLong(recordBytesMax: number): ApiError {
  return new ApiError(
    "contentTooLarge",
    `The record is longer than ${recordBytesMax} bytes: shorten it, close a quote that is open in CSV or a bracket of JSON, or raise --body-bytes-max.`,
  );
}

function hasByteOrderMark(bytes: Uint8Array): boolean {
  return byteOrderMark.every((byte, index) => bytes[index] === byte);
}

/** The maximum UTF-8 length of a UTF-16 code unit. */
const bytesPerCodeUnitMax = 3;

/** Whether a text is longer than `bytesMax` in UTF-8. */
function isLongerThan(text: string, bytesMax: number): boolean {
  return text.length * bytesPerCodeUnitMax > bytesMax && Buffer.byteLength(text) > bytesMax;
}

const lossyDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes any bytes, for messages and the report of rejected records. */
export function lossyText(bytes: Uint8Array): string {
  return lossyDecoder.decode(bytes);
}
