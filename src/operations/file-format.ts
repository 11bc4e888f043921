// The formats of import and export.

import type { Contract } from "../core/contract/contract.ts";
import { Csv, creationNames, type ReadOptions } from "./csv.ts";
import type { FormatName } from "./format-names.ts";
import { JsonReader } from "./json-reader.ts";
import { LineReader } from "./line-reader.ts";
import { ndjson } from "./ndjson.ts";
import { type ImportRecord, type RecordReader, recordsOf } from "./record-reader.ts";

/** The formats of files: `json` is an array, or objects that span lines; NDJSON is one a line. */
export type FileFormat = FormatName | "json";

/**
 * The records of a stream. Members of an export with creations are ignored, also where the schema
 * allows no others. Throws an OperatorError if the header of CSV does not name the id and
 * the required fields, or the rest of the file cannot be read.
 */
export function readRecords(
  contract: Contract,
  format: FileFormat,
  chunks: AsyncIterable<Uint8Array>,
  options: ReadOptions,
): AsyncGenerator<readonly ImportRecord[]> {
  const ignored = [...contract.ignored, ...creationNames(contract)];
  return recordsOf(chunks, readerOf({ ...contract, ignored }, format, options));
}

function readerOf(contract: Contract, format: FileFormat, options: ReadOptions): RecordReader {
  if (format === "json") return new JsonReader(contract, options);
  return format === "csv"
    ? new LineReader(new Csv(contract, options), options)
    : new LineReader(ndjson(contract), options);
}
