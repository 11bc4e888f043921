// One entry of a file that is imported.

import { ApiError } from "../contract/errors.ts";
import type { NewPlant } from "../contract/plant.ts";

export interface ImportRecord {
  /** The line that it starts in, counted from 1. */
  readonly line: number;
  /** How it stands there, without the line end. Bytes that are not UTF-8 are U+FFFD. */
  readonly text: string;
  readonly plant: NewPlant | ApiError;
}

/** In UTF-8 a UTF-16 code unit takes so many bytes at the most. */
const bytesPerUnitMax = 3;

/** Whether a text is longer than so many bytes in UTF-8. */
export function isLongerThan(text: string, bytesMax: number): boolean {
  return text.length * bytesPerUnitMax > bytesMax && Buffer.byteLength(text) > bytesMax;
}

/** The refusal of an entry that is longer than what an import holds in memory. */
export function recordTooLong(recordBytesMax: number): ApiError {
  return new ApiError(
    "contentTooLarge",
    `The entry is longer than ${recordBytesMax} bytes: shorten it, or raise --record-bytes-max.`,
  );
}

const lenient = new TextDecoder("utf-8", { ignoreBOM: true });

/** Text for a report, whatever the bytes. */
export function reportText(bytes: Uint8Array): string {
  return lenient.decode(bytes);
}
