// The formats of import and export.

import { csvRecords, type ReadOptions } from "./csv.ts";
import { ndjsonRecords } from "./ndjson.ts";
import type { ImportRecord } from "./record-reader.ts";

/** The values of --format. */
export const formatNames = ["ndjson", "csv"] as const;

export type FormatName = (typeof formatNames)[number];

/** The records of a stream. */
type ReadRecords = (
  chunks: AsyncIterable<Uint8Array>,
  options: ReadOptions,
) => AsyncIterable<readonly ImportRecord[]>;

export const readRecords: Readonly<Record<FormatName, ReadRecords>> = {
  ndjson: ndjsonRecords,
  csv: csvRecords,
};

/** The format of a file by its extension: CSV for .csv, otherwise NDJSON. */
export function formatOfFile(name: string): FormatName {
  return /\.csv$/i.test(name) ? "csv" : "ndjson";
}
