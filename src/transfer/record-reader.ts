// Reads the records of a file that arrives in chunks of any size. A reader holds one chunk, and the
// part of a record that has arrived.

import { ApiError } from "../base/errors.ts";
import type { Plant } from "../contract/contract.ts";
import type { ChosenId } from "../plants/new-ids.ts";
import type { EncodingGuess } from "./encoding.ts";
import type { NumberedIds } from "./numbered-ids.ts";

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
  /** The ids that it may have, if they are made from its number. */
  readonly chosen?: ChosenId;
  /** When and by whom it was created, of an import that keeps both. */
  readonly creation?: GivenCreation;
}

/** When and by whom the plant of a record was created in the store of the export. */
export interface GivenCreation {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** The name of a token or a provider's subject; null if there is none. */
  readonly creatorName: string | null;
}

/** How records are read. */
export interface RecordOptions {
  readonly recordBytesMax: number;
  /** Is shown all bytes. */
  readonly encoding?: EncodingGuess | undefined;
  /** Makes the ids of records that have none; undefined if each must have one. */
  readonly ids?: NumberedIds | undefined;
}

/** Reads the records of a file. Records before an error in the file are returned first. */
export interface RecordReader {
  /** Returns the records that a chunk completes. */
  read(chunk: Uint8Array): ImportRecord[];
  /** Throws an OperatorError if nothing more can be read. */
  assertReadable(): void;
  /** Returns the records that the end of the stream completes. */
  readRest(): ImportRecord[];
  /** Throws an OperatorError unless the stream has ended with a whole file. */
  assertComplete(): void;
}

/**
 * Yields the records of a stream, as many at a time as a chunk completes. Throws an OperatorError
 * if the rest cannot be read.
 */
export async function* recordsOf(
  chunks: AsyncIterable<Uint8Array>,
  reader: RecordReader,
): AsyncGenerator<readonly ImportRecord[]> {
  for await (const chunk of chunks) {
    yield reader.read(chunk);
    reader.assertReadable();
  }
  yield reader.readRest();
  reader.assertComplete();
}

/**
 * The bytes of a record that are held. A record that is longer than a request's body is rejected.
 * One that is longer than this ends the import: without a closing quote of CSV, or a closing
 * bracket of JSON, the rest of the file looks like one record.
 */
export function heldBytesMaxOf(recordBytesMax: number): number {
  return Math.max(16 * 2 ** 20, recordBytesMax);
}

/**
 * Ends a record: rejects one that is too long, and lets the error of another say where in the file
 * it is.
 */
export function toRecord(read: ImportRecord, { recordBytesMax, ids }: RecordOptions): ImportRecord {
  const chosen = ids?.endRecord();
  const record = chosen === undefined ? read : { ...read, chosen };
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
