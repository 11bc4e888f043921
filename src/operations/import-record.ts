// One record of an imported file.

import { ApiError } from "../core/contract/errors.ts";
import type { NewPlant } from "../core/contract/plant.ts";

export interface ImportRecord {
  /** The number of its first line, from 1. */
  readonly line: number;
  /** Its text in the file, without the line end. Bytes that are not UTF-8 are U+FFFD. */
  readonly text: string;
  readonly plant: NewPlant | ApiError;
}

/** The maximum UTF-8 length of a UTF-16 code unit. */
const bytesPerCodeUnitMax = 3;

/** Whether a text is longer than `bytesMax` in UTF-8. */
export function isLongerThan(text: string, bytesMax: number): boolean {
  return text.length * bytesPerCodeUnitMax > bytesMax && Buffer.byteLength(text) > bytesMax;
}

/** Characters of a record that is too long in the report of rejected records. */
const reportedLength = 1_024;

/** Enough bytes for the reported start of a record that is too long. */
export const reportedBytes = bytesPerCodeUnitMax * reportedLength;

/**
 * Rejects a record that is longer than --record-bytes-max.
 *
 * @param text The record, or at least its first reportedBytes decoded.
 */
export function tooLongRecord(line: number, text: string, recordBytesMax: number): ImportRecord {
  // Not more than any chunk that shows the record to be too long contains of it.
  const start = Buffer.from(text.slice(0, reportedLength)).subarray(0, recordBytesMax);
  return {
    line,
    text: reportText(start),
    plant: new ApiError(
      "contentTooLarge",
      `The record is longer than ${recordBytesMax} bytes: shorten it, close a quote that is open in CSV, or raise --record-bytes-max.`,
    ),
  };
}

const lossyDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes any bytes for the report of rejected records. */
export function reportText(bytes: Uint8Array): string {
  return lossyDecoder.decode(bytes);
}
