// The settings of an import: as the operator chose them, or as the preview guesses them from the
// start of the file.

import { ApiError } from "../core/contract/errors.ts";
import { fieldNames, groupField, isRequired, titleField } from "../core/contract/fields.ts";
import { decodeUtf8 } from "../core/contract/utf8.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { ChosenColumns } from "../operations/csv.ts";
import { type Delimiter, parseCsvRecords } from "../operations/csv-records.ts";
import { type FormatName, formatNames, readRecords } from "../operations/format.ts";
import type { ImportRecord } from "../operations/record-reader.ts";
import { BadRequestError } from "./responses.ts";

/** Whether stored plants that differ are rejected, replaced, or counted without any write. */
const updates = ["off", "dry-run", "replace"] as const;

export interface ImportSettings {
  readonly update: (typeof updates)[number];
  readonly format: FormatName;
  readonly delimiter: Delimiter;
  readonly columns: ChosenColumns | undefined;
}

const previewRecordsMax = 10;

const lineFeed = 0x0a;

const guessedDelimiters = [",", ";", "\t", "|"];

const columnNames = ["id", ...fieldNames] as const;

const isOptional = columnNames.map((name) => name !== "id" && !isRequired(name));

/** Names of columns in other languages and programs. */
const otherNames: Readonly<Record<string, RegExp>> = {
  id: /^(?:nr|no|number|nummer|key|#)$/i,
  [titleField]: /^(?:plant|plant ?name|title|bezeichnung|nom|nombre)$/i,
  ...(groupField !== undefined && { [groupField]: /^(?:tags|category|type|label|group|kategorie)$/i }),
};

/**
 * Throws a BadRequestError for settings that the page does not send.
 *
 * @param given returns a setting as the page sends it.
 */
export function parseSettings(
  given: (name: "format" | "delimiter" | "columns" | "update") => string,
): ImportSettings {
  const name = formatNames.find((one) => one === given("format"));
  if (name === undefined) throw new BadRequestError("The format must be ndjson or csv.");
  const update = updates.find((one) => one === given("update"));
  if (update === undefined) throw new BadRequestError("The update must be off, dry-run or replace.");
  if (name === "ndjson") return { update, format: name, delimiter: ",", columns: undefined };
  const delimiter = given("delimiter");
  if (!/^[\t !#-,./:;<=>?@[\\\]^_`{|}~]$/.test(delimiter))
    throw new BadRequestError(
      "The delimiter must be one ASCII character other than a letter, digit, quote or hyphen.",
    );
  return { update, format: name, delimiter, columns: parseColumns(given("columns")) };
}

/** The indexes of id and of each field, and whether there is a header: "0,1,-1,true". */
function parseColumns(text: string): ChosenColumns {
  const indexes = text.split(",");
  const hasHeader = indexes.pop();
  const isIndex = (index: string, at: number) =>
    /^\d{1,4}$/.test(index) || (index === "-1" && isOptional[at]);
  const isValid = indexes.length === columnNames.length && indexes.every(isIndex);
  if (!isValid || !/^(?:true|false)$/.test(hasHeader ?? ""))
    throw new BadRequestError("The columns of the id and of each required field must be chosen.");
  const columns = Object.fromEntries(columnNames.map((name, at) => [name, Number(indexes[at])]));
  return { ...(columns as Record<(typeof columnNames)[number], number>), hasHeader: hasHeader === "true" };
}

/**
 * The start of a file as an import reads it.
 *
 * @param parameters the name and size of the file, and the settings that the operator has chosen.
 */
export async function previewImport(bytes: Uint8Array, parameters: URLSearchParams, recordBytesMax: number) {
  const isCut = bytes.length < Number(parameters.get("size"));
  const lastLineEnd = bytes.lastIndexOf(lineFeed);
  // The end of a longer line may be in the middle of a character.
  const end = lastLineEnd === -1 ? bytes.findLastIndex((byte) => byte < 0x80) : lastLineEnd;
  const start = isCut ? bytes.subarray(0, end + 1) : bytes;
  const utf8 = decodeUtf8(start);
  const text = utf8 ?? "";
  const isNdjson =
    /\.(?:ndjson|jsonl|json)$/i.test(parameters.get("name") ?? "") || text.trimStart().startsWith("{");
  const delimiter = parameters.get("delimiter") ?? guessDelimiter(text);
  const header = firstCells(text, delimiter);
  const columns = parameters.get("columns") ?? guessColumns(header);
  const format = parameters.get("format") ?? (isNdjson ? "ndjson" : "csv");
  const chosen = { format, delimiter, columns, update: "off" };
  const settings = parseSettings((name) => chosen[name]);
  const records = await firstRecords(start, settings, recordBytesMax);
  return {
    isUtf8: utf8?.includes("\0") === false,
    format: settings.format,
    delimiter,
    columns,
    header,
    records: records.map(({ text: record, plant }) =>
      plant instanceof ApiError ? { text: record, reason: plant.message } : { plant },
    ),
  };
}

async function firstRecords(
  start: Uint8Array,
  { format, delimiter, columns }: ImportSettings,
  recordBytesMax: number,
): Promise<ImportRecord[]> {
  const chunks = new Blob([new Uint8Array(start)]).stream();
  const found: ImportRecord[] = [];
  try {
    for await (const some of readRecords(format, chunks, { recordBytesMax, delimiter, columns })) {
      found.push(...some);
      if (found.length >= previewRecordsMax) break;
    }
  } catch (error) {
    // A quote that is open where the start ends may be closed after it.
    if (!(error instanceof OperatorError)) throw error;
  }
  return found.slice(0, previewRecordsMax);
}

/** The delimiter that the first line has most of. */
function guessDelimiter(text: string): string {
  const [line = ""] = text.split(/[\r\n]/, 1);
  const count = (delimiter: string) => line.split(delimiter).length;
  return guessedDelimiters.reduce((most, each) => (count(each) > count(most) ? each : most));
}

function firstCells(text: string, delimiter: string): string[] {
  let first: string[] | undefined;
  parseCsvRecords(text, delimiter, (cells) => {
    first ??= "error" in cells ? [] : cells.map((cell = "") => cell.trim());
  });
  return first ?? [];
}

/** The columns that a first line names; a first line with a number in it is a plant. */
function guessColumns(header: readonly string[]): string {
  const named = columnNames.map((name) =>
    header.findIndex((cell) => cell.toLowerCase() === name || otherNames[name]?.test(cell)),
  );
  const hasHeader =
    named.some((index, at) => index !== -1 && !isOptional[at]) ||
    !header.some((cell) => /^-?\d+$/.test(cell));
  const last = Math.max(0, header.length - 1);
  const indexes = named.map((index, at) => {
    const found = hasHeader || at > last ? index : at;
    return found === -1 && !isOptional[at] ? Math.min(at, last) : found;
  });
  return [...indexes, hasHeader].join();
}
