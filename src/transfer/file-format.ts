// The formats of import and export.

import type { Collection } from "../contract/contract.ts";
import { Csv, type CsvHeader, creationNames, type ReadOptions } from "./csv.ts";
import type { FormatName } from "./format-names.ts";
import { GivenCreations } from "./given-creations.ts";
import { JsonReader } from "./json-reader.ts";
import { LineReader } from "./line-reader.ts";
import { ndjson } from "./ndjson.ts";
import { numberedIds } from "./numbered-ids.ts";
import { type ImportRecord, type RecordReader, recordsOf } from "./record-reader.ts";

/** The formats of files: `json` is an array, or objects that span lines; NDJSON is one a line. */
export type FileFormat = FormatName | "json";

/**
 * The records of a stream. Members of an export with creations are ignored unless they are kept, also
 * where the schema allows no others. Throws an OperatorError if the header of CSV does not name the id and
 * the required fields, or the rest of the file cannot be read.
 *
 * @param key makes the ids of records without one, where the server makes ids.
 */
export function readRecords(
  collection: Collection,
  format: FileFormat,
  chunks: AsyncIterable<Uint8Array>,
  { keepsCreations = false, ...options }: Omit<ReadOptions, "ids"> & { readonly keepsCreations?: boolean },
  key?: string,
): AsyncGenerator<readonly ImportRecord[]> {
  const ignored = [...collection.ignored, ...creationNames(collection)];
  // An export has the ids, which a body may not have.
  const id = { ...collection.id, isAccepted: true };
  const ids = numberedIds(collection, key);
  const own = { ...collection, id, ignored };
  if (!keepsCreations) return recordsOf(chunks, readerOf(own, format, { ...options, ids }));
  const creations = new GivenCreations(collection);
  const onHeader = (header: CsvHeader) => options.onHeader?.(creations.onHeader(header));
  return creations.addTo(recordsOf(chunks, readerOf(own, format, { ...options, ids, onHeader })));
}

function readerOf(collection: Collection, format: FileFormat, options: ReadOptions): RecordReader {
  if (format === "json") return new JsonReader(collection, options);
  return format === "csv"
    ? new LineReader(new Csv(collection, options), options)
    : new LineReader(ndjson(collection, options), options);
}
