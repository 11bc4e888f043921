// Parses NDJSON, in which each line is a request body of the API.

import { ApiError } from "../base/errors.ts";
import type { Collection } from "../contract/contract.ts";
import { parsePlant, parsePlantJson } from "../contract/plant.ts";
import { scanJson } from "../json/json-scanner.ts";
import type { RecordFormat } from "./line-reader.ts";
import type { ImportRecord, RecordOptions } from "./record-reader.ts";

const lineFeed = 0x0a;
const openingBrace = 0x7b;
const byteOrderMark = 0xfeff;
const lastComma = /,\s*$/;

/** A line is parsed only when it becomes a plant, and a blank one is skipped. */
export const ndjson = (
  collection: Collection,
  { ids }: RecordOptions,
): RecordFormat<ImportRecord["plant"] | undefined> => ({
  parse(text, onRecord) {
    for (let start = 0; start < text.length; ) {
      const lineEnd = text.indexOf("\n", start);
      const end = lineEnd === -1 ? text.length : lineEnd;
      onRecord(undefined, start, end > start && text[end - 1] === "\r" ? end - 1 : end);
      start = end + 1;
    }
    return text.length;
  },
  completeBytes: (bytes) => bytes.lastIndexOf(lineFeed) + 1,
  countLineEnds: () => 0,
  invalid: (bytes) => parsePlant(collection, bytes),
  toPlant(invalid, text) {
    // Almost every line starts with a brace, and checking one character first is free.
    if (text.charCodeAt(0) !== openingBrace && /^[ \t\r]*$/.test(text)) return undefined;
    if (invalid !== undefined) return invalid;
    // Like a request body, a line may start with a byte order mark.
    const json = text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text;
    const plant = parsePlantJson(collection, json, ids?.make);
    if (!(plant instanceof ApiError) || plant.code !== "invalidJson" || !lastComma.test(json)) return plant;
    if ("error" in scanJson(json.replace(lastComma, ""), [])) return plant;
    // The elements of an array, without its brackets.
    return new ApiError(
      "invalidJson",
      'The record is not JSON: a comma follows it; remove the comma of each line, or put "[" before the first and "]" after the last.',
    );
  },
});
