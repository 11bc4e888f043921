// The formats of import and export.

import type { Contract } from "../core/contract/contract.ts";
import { Csv, type ReadOptions } from "./csv.ts";
import { ndjson } from "./ndjson.ts";
import { type ImportRecord, recordsOf } from "./record-reader.ts";

/** The values of --format. */
export const formatNames = ["ndjson", "csv"] as const;

export type FormatName = (typeof formatNames)[number];

/**
 * The records of a stream. Throws an OperatorError if the header of CSV does not name the id and the required fields,
 * or a quote is open at the end.
 */
export function readRecords(
  contract: Contract,
  format: FormatName,
  chunks: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<readonly ImportRecord[]> {
  const { recordBytesMax } = options;
  return format === "csv"
    ? recordsOf(chunks, new Csv(contract, options), recordBytesMax)
    : recordsOf(chunks, ndjson(contract), recordBytesMax);
}
