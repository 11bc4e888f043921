// NDJSON: each line is a request body of the API.

import type { Contract } from "../core/contract/contract.ts";
import { parsePlant, parsePlantJson } from "../core/contract/plant.ts";
import type { ImportRecord, RecordFormat } from "./record-reader.ts";

const lineFeed = 0x0a;
const openingBrace = 0x7b;
const byteOrderMark = 0xfeff;

/** A line is parsed only when it becomes a plant, and a blank one is skipped. */
export const ndjson = (contract: Contract): RecordFormat<ImportRecord["plant"] | undefined> => ({
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
  invalid: (bytes) => parsePlant(contract, bytes),
  toPlant(invalid, text) {
    // Almost every line starts with a brace, and checking one character first is free.
    if (text.charCodeAt(0) !== openingBrace && /^[ \t\r]*$/.test(text)) return undefined;
    // Like a request body, a line may start with a byte order mark.
    return invalid ?? parsePlantJson(contract, text.charCodeAt(0) === byteOrderMark ? text.slice(1) : text);
  },
});
