// Reads when and by whom the plants of an export were created, for an import that keeps both.

import { parseTime } from "../base/duration.ts";
import { ApiError } from "../base/errors.ts";
import { OperatorError } from "../base/operator-error.ts";
import type { Collection } from "../contract/contract.ts";
import { shorten } from "../contract/plant.ts";
import { isStorable } from "../contract/stored-types.ts";
import { scanJson } from "../json/json-scanner.ts";
import { type CsvHeader, creationNames, foldedName } from "./csv.ts";
import { csvCellsOf, type Delimiter } from "./csv-records.ts";
import type { GivenCreation, ImportRecord } from "./record-reader.ts";

/** Every store can index so many in UTF-8; those of a server are shorter. */
const nameBytesMax = 2_600;

/** The version of a plant has the milliseconds of its creation in 43 bits, which end in 2248. */
const createdAtMax = 2 ** 43 - 1;

/** The texts of both in a record; undefined where there is none, and null for what is no text. */
type Texts = readonly (string | null | undefined)[];

export class GivenCreations {
  readonly #names: readonly string[];
  /** Where CSV has both; undefined for JSON. */
  #columns: { readonly delimiter: Delimiter; readonly indexes: readonly number[] } | undefined;

  constructor(collection: Collection) {
    this.#names = creationNames(collection);
  }

  /** Is told the header of CSV, and returns it without both among the columns that are not read. */
  onHeader(header: CsvHeader): CsvHeader {
    const cells = csvCellsOf(header.text, header.delimiter) ?? [];
    const [timeName = ""] = this.#names;
    const indexes = this.#names.map((name) => {
      const found = cells.flatMap((cell, index) => (this.#isNamed(cell, name) ? [index] : []));
      if (found.length > 1) throw new OperatorError(`the header has the column ${name} twice`);
      return found[0] ?? -1;
    });
    if (indexes[0] === -1)
      throw new OperatorError(
        `the header has no column ${timeName}: export the file with --with-creation, or leave it out here`,
      );
    this.#columns = { delimiter: header.delimiter, indexes };
    const isIgnored = (cell: string) => !this.#names.some((name) => this.#isNamed(cell, name));
    return { ...header, ignored: header.ignored.filter(isIgnored) };
  }

  /** Adds both to valid records. A record without a valid time is rejected. */
  async *addTo(records: AsyncIterable<readonly ImportRecord[]>): AsyncGenerator<readonly ImportRecord[]> {
    for await (const some of records) yield some.map((record) => this.#add(record));
  }

  #add(record: ImportRecord): ImportRecord {
    if (record.plant instanceof ApiError) return record;
    const creation = this.#parse(this.#textsOf(record));
    return creation instanceof ApiError ? { ...record, plant: creation } : { ...record, creation };
  }

  #parse([time, name]: Texts): GivenCreation | ApiError {
    const [timeName = "", tokenName = ""] = this.#names;
    const createdAt = typeof time === "string" ? parseTime(time) : Number.NaN;
    if (!(createdAt >= 0 && createdAt <= createdAtMax)) {
      const expected = "a date and time in UTC such as 2027-01-31T12:00:00.000Z, until 2248";
      return invalidRecord(timeName, expected, time);
    }
    if (name === undefined) return { createdAt, creatorName: null };
    const isName =
      name !== null && name !== "" && isStorable(name) && Buffer.byteLength(name) <= nameBytesMax;
    return isName
      ? { createdAt, creatorName: name }
      : invalidRecord(tokenName, `the name of a token of at most ${nameBytesMax} bytes`, name);
  }

  #textsOf({ text }: ImportRecord): Texts {
    if (this.#columns !== undefined) {
      const cells = csvCellsOf(text, this.#columns.delimiter) ?? [];
      return this.#columns.indexes.map((index) => cells[index]);
    }
    const scanned = scanJson(text.replace(/^\ufeff/, ""), this.#names);
    return this.#names.map((name, index) => {
      const member = "error" in scanned ? undefined : scanned.members.get(name);
      const value: unknown = member === undefined ? undefined : JSON.parse(member);
      // A creator may be null, which is no creator; a time may not.
      if (index === 1 && value === null) return undefined;
      return value === undefined || typeof value === "string" ? value : null;
    });
  }

  #isNamed(cell: string | undefined, name: string): boolean {
    return foldedName(cell ?? "") === foldedName(name);
  }
}

function invalidRecord(name: string, expected: string, found: string | null | undefined): ApiError {
  const shown = found === undefined ? "missing" : found === null ? "no text" : JSON.stringify(shorten(found));
  return new ApiError(
    "invalidPlant",
    `The record has no valid creation: "${name}" must be ${expected}, but is ${shown}.`,
  );
}
