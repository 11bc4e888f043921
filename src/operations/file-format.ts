// The formats of import and export.

import type { Contract } from "../core/contract/contract.ts";
import { Csv, type ReadOptions } from "./csv.ts";
import { jsonRecordsOf } from "./json-records.ts";
import { ndjson } from "./ndjson.ts";
import { type ImportRecord, recordsOf } from "./record-reader.ts";

/** The values of --format. */
export const formatNames = ["ndjson", "csv"] as const;

export type FormatName = (typeof formatNames)[number];

/** The formats of files: `json` is an array, or objects that span lines; NDJSON is one a line. */
export type FileFormat = FormatName | "json";

/**
 * The records of a stream. Throws an OperatorError if the header of CSV does not name the id and
 * the required fields, or the rest of the file cannot be read.
 */
export function readRecords(
  contract: Contract,
  format: FileFormat,
  chunks: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<readonly ImportRecord[]> {
  if (format === "json") return jsonRecordsOf(contract, chunks, options);
  return format === "csv"
    ? recordsOf(chunks, new Csv(contract, options), options)
    : recordsOf(chunks, ndjson(contract), options);
}
