// Reads the records of NDJSON and CSV, in which each record ends with a line end.

import { OperatorError } from "../base/operator-error.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import {
  heldBytesMaxOf,
  type ImportRecord,
  lossyText,
  type RecordOptions,
  type RecordReader,
  toRecord,
} from "./record-reader.ts";

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

const lineEnd = Buffer.from("\n");
const byteOrderMark = Buffer.from("\ufeff");

export class LineReader<Parsed> implements RecordReader {
  readonly #format: RecordFormat<Parsed>;
  readonly #options: RecordOptions;
  readonly #heldBytesMax: number;
  /** The line of the next record. */
  #line = 1;
  /** Bytes of a record that has not ended. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  /** A record that spans many chunks is parsed again only when its size has doubled. */
  #parseFromBytes = 0;

  constructor(format: RecordFormat<Parsed>, options: RecordOptions) {
    this.#format = format;
    this.#options = options;
    this.#heldBytesMax = heldBytesMaxOf(options.recordBytesMax);
  }

  read(chunk: Uint8Array): ImportRecord[] {
    const records: ImportRecord[] = [];
    this.#pendingBytes += chunk.length;
    if (this.#pendingBytes < this.#parseFromBytes) {
      this.#pending.push(chunk);
      return records;
    }
    const bytes = this.#pending.length === 0 ? chunk : Buffer.concat([...this.#pending, chunk]);
    const parsed = this.#parseRecords(bytes.subarray(0, this.#format.completeBytes(bytes)), records);
    const rest = bytes.subarray(parsed);
    this.#pending = rest.length === 0 ? [] : [rest];
    this.#pendingBytes = rest.length;
    this.#parseFromBytes = Math.min(2 * rest.length, this.#heldBytesMax + 1);
    return records;
  }

  assertReadable(): void {
    if (this.#pendingBytes <= this.#heldBytesMax) return;
    throw new OperatorError(
      `the record in line ${this.#line} is longer than ${this.#heldBytesMax} bytes: shorten it, or close a quote that is open in CSV, and import the file again to continue`,
    );
  }

  readRest(): ImportRecord[] {
    this.#parseFromBytes = 0;
    return this.read(lineEnd);
  }

  assertComplete(): void {
    if (this.#pendingBytes > 0) {
      throw new OperatorError(
        `the record in line ${this.#line} does not end: a quote is not closed; correct it, and import the file again to continue`,
      );
    }
    this.#format.assertHeader?.();
  }

  /** Adds the complete records, and returns the number of their bytes. */
  #parseRecords(bytes: Uint8Array, records: ImportRecord[]): number {
    const hasMark = this.#line === 1 && byteOrderMark.every((byte, index) => bytes[index] === byte);
    const markBytes = hasMark ? byteOrderMark.length : 0;
    const own = bytes.subarray(markBytes);
    // Decoding many records at once takes a tenth of the time of decoding each.
    const text = decodeUtf8(own, "kept");
    if (text === undefined) return markBytes + this.#parseRecordsOneByOne(own, records);
    this.#options.encoding?.add(own, text);
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
      this.#options.encoding?.add(own, text);
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
    records.push(toRecord(record, this.#options));
  }
}
