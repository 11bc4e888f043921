// JSON that spans lines: an array of records, or objects one after another. Only brackets and
// strings are followed, to cut out the exact text of each record, which is then parsed as a
// request's body is.
//
// Parsers of streams on npm lose digits of ids, or give tokens without their text, and take longer
// than this file with all plants of their records.

import { OperatorError } from "../base/operator-error.ts";
import { printable } from "../base/terminal.ts";
import type { Collection } from "../contract/contract.ts";
import { parsePlant, parsePlantJson } from "../contract/plant.ts";
import { scanJson } from "../json/json-scanner.ts";
import { decodeUtf8 } from "../json/utf8.ts";
import {
  heldBytesMaxOf,
  type ImportRecord,
  inFile,
  lossyText,
  type RecordOptions,
  type RecordReader,
  toRecord,
} from "./record-reader.ts";

const [lineFeed, quote, backslash, comma] = [0x0a, 0x22, 0x5c, 0x2c];
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d];
/** RFC 8259, section 2. */
const whitespace: readonly number[] = [0x20, 0x09, lineFeed, 0x0d];
/** The bytes of U+FEFF, at the start of a file, or where two were joined. */
const byteOrderMark: readonly number[] = [0xef, 0xbb, 0xbf];

const atTop = 'expected "{" or "["';
const inArray = 'expected "{" or "]"';
const afterElement = 'expected "," or "]"';

export class JsonReader implements RecordReader {
  readonly #collection: Collection;
  readonly #options: RecordOptions;
  readonly #heldBytesMax: number;
  /** The state between records, as the message of an error says it. */
  #expects = atTop;
  /** The open brackets of the record. */
  #depth = 0;
  #isInString = false;
  #isEscaped = false;
  #line = 1;
  /** The characters of the line before the chunk. */
  #column = 0;
  /** Where the record begins. */
  #start = { line: 1, column: 1 };
  /** Bytes of a record that has not ended. */
  #pending: Uint8Array[] = [];
  #pendingBytes = 0;
  #error: string | undefined;

  constructor(collection: Collection, options: RecordOptions) {
    this.#collection = collection;
    this.#options = options;
    this.#heldBytesMax = heldBytesMaxOf(options.recordBytesMax);
  }

  read(chunk: Uint8Array): ImportRecord[] {
    const records: ImportRecord[] = [];
    let [depth, isInString, isEscaped] = [this.#depth, this.#isInString, this.#isEscaped];
    /** The index of the line's first character, if each were a byte. */
    let lineStart = -this.#column;
    let recordStart = 0;
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] as number;
      // Columns are UTF-16 code units: one of two and three bytes, and two of four.
      if (byte >= 0x80) lineStart += byte < 0xc0 ? 1 : byte < 0xf0 ? 0 : -1;
      if (byte === lineFeed) {
        this.#line++;
        lineStart = at + 1;
      }
      if (isInString) {
        if (isEscaped) isEscaped = false;
        else if (byte === backslash) isEscaped = true;
        else if (byte === quote) isInString = false;
      } else if (depth > 0) {
        if (byte === quote) isInString = true;
        else if (byte === openBrace || byte === openBracket) depth++;
        else if ((byte === closeBrace || byte === closeBracket) && --depth === 0)
          records.push(this.#end(chunk.subarray(recordStart, at + 1)));
      } else if (byteOrderMark.includes(byte)) {
        // It takes no column.
        if (byte === byteOrderMark[0]) lineStart++;
      } else if (!whitespace.includes(byte)) {
        if (byte === openBrace && this.#expects !== afterElement) {
          depth = 1;
          recordStart = at;
          this.#start = { line: this.#line, column: at - lineStart + 1 };
          if (this.#expects === inArray) this.#expects = afterElement;
        } else if (byte === openBracket && this.#expects === atTop) this.#expects = inArray;
        else if (byte === closeBracket && this.#expects !== atTop) this.#expects = atTop;
        else if (byte === comma && this.#expects === afterElement) this.#expects = inArray;
        else {
          const place = `line ${this.#line}, column ${at - lineStart + 1}`;
          this.#error = `${place}: ${this.#expects}, found ${characterAt(chunk, at)}`;
          return records;
        }
      }
    }
    [this.#depth, this.#isInString, this.#isEscaped] = [depth, isInString, isEscaped];
    this.#column = chunk.length - lineStart;
    if (depth > 0) {
      this.#pending.push(chunk.subarray(recordStart));
      this.#pendingBytes += chunk.length - recordStart;
    }
    return records;
  }

  assertReadable(): void {
    if (this.#error !== undefined)
      throw new OperatorError(`${this.#error}; correct it, and import the file again to continue`);
    if (this.#pendingBytes > this.#heldBytesMax)
      throw this.#endless(`is longer than ${this.#heldBytesMax} bytes`);
  }

  /** Returns no records: each is complete with its closing brace. */
  readRest(): ImportRecord[] {
    return [];
  }

  assertComplete(): void {
    if (this.#depth > 0) throw this.#endless("does not end");
    if (this.#expects !== atTop)
      throw new OperatorError(
        `the array does not end: the file ends in line ${this.#line} without "]", and has perhaps been cut; import the whole file to continue`,
      );
  }

  /** The record that ends with some bytes. */
  #end(last: Uint8Array): ImportRecord {
    const bytes = this.#pending.length === 0 ? last : Buffer.concat([...this.#pending, last]);
    this.#pending = [];
    this.#pendingBytes = 0;
    const { encoding, ids } = this.#options;
    const text = decodeUtf8(bytes, "kept");
    encoding?.add(bytes, text);
    const { line, column } = this.#start;
    if (text !== undefined) {
      const plant = parsePlantJson(this.#collection, text, ids?.make);
      return toRecord({ line, column, text, plant }, this.#options);
    }
    const plant = parsePlant(this.#collection, bytes);
    const own = { text: lossyText(bytes), bytes: new Uint8Array(bytes) };
    return toRecord({ line, column, ...own, plant }, this.#options);
  }

  /** The error of a record without an end, with the place of what is wrong in it. */
  #endless(what: string): OperatorError {
    const { line, column } = this.#start;
    const scan = scanJson(lossyText(Buffer.concat(this.#pending)), []);
    const place = "error" in scan ? `: ${printable(inFile(scan.error, this.#start))}` : "";
    return new OperatorError(
      `the record in line ${line}, column ${column} ${what}${place}; correct it, and import the file again to continue`,
    );
  }
}

/** The character at an index, quoted; U+FFFD for one that the chunk does not hold whole. */
function characterAt(chunk: Uint8Array, at: number): string {
  const [character = ""] = lossyText(chunk.subarray(at, at + 4));
  return printable(JSON.stringify(character));
}
