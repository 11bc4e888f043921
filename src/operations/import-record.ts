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

/** The error of a record that is longer than --record-bytes-max. */
export function recordTooLong(recordBytesMax: number): ApiError {
  return new ApiError(
    "contentTooLarge",
    `The record is longer than ${recordBytesMax} bytes: shorten it, or raise --record-bytes-max.`,
  );
}

const lossyDecoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** Decodes any bytes for the report of rejected records. */
export function reportText(bytes: Uint8Array): string {
  return lossyDecoder.decode(bytes);
}
