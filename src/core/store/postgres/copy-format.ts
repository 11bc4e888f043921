// Plants in the text format of COPY (PostgreSQL manual, "COPY", "Text Format"): columns are
// separated by tabs, rows end with a line feed, \N is null, and special characters are escaped with
// a backslash.

import { type FieldName, fieldNames, fieldValue, typeOf } from "../../contract/fields.ts";
import type { NewEntry, StoredPlant } from "../plant-store.ts";

const specials = /[\\\t\n\r]/g;
const escapes = /\\(.)/gs;

const escaped: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };
const unescaped: Readonly<Record<string, string>> = {
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

const lastField = fieldNames.length - 1;

/** Formats entries as rows of the id, the fields, the time and the creator. */
export function toCopyText(entries: readonly NewEntry[], createdAt: number): string {
  let text = "";
  for (const { plant, creator } of entries) {
    text += plant.id;
    for (const field of fieldNames) {
      const value = fieldValue(plant, field);
      text += value === undefined ? "\t\\N" : `\t${escapeText(typeOf(field).format(value))}`;
    }
    text += `\t${createdAt}\t${creator ?? "\\N"}\n`;
  }
  return text;
}

/** Parses complete rows of an id, the fields, and with `withCreation` the time and the creator. */
export function fromCopyText(text: string, withCreation: boolean): StoredPlant[] {
  const plants: StoredPlant[] = [];
  // Most texts contain no backslash; then no value is null or escaped.
  const isPlain = !text.includes("\\");
  for (let start = 0; start < text.length; ) {
    let end = text.indexOf("\t", start);
    const plant: Record<string, unknown> = { id: text.slice(start, end) };
    for (let field = 0; field < fieldNames.length; field++) {
      start = end + 1;
      end = text.indexOf(field === lastField && !withCreation ? "\n" : "\t", start);
      const value = text.slice(start, end);
      const name = fieldNames[field] as FieldName;
      if (isPlain) plant[name] = typeOf(name).fromColumn(value);
      else if (value !== "\\N") plant[name] = typeOf(name).fromColumn(unescapeText(value));
    }
    if (withCreation) {
      start = end + 1;
      end = text.indexOf("\n", start);
      const [createdAt = null, token = null] = text.slice(start, end).split("\t").map(fromCopyValue);
      const creation = { createdAt: createdAt === null ? null : Number(createdAt), token };
      Object.assign(plant, { creation });
    }
    plants.push(plant as unknown as StoredPlant);
    start = end + 1;
  }
  return plants;
}

function fromCopyValue(value: string): string | null {
  return value === "\\N" ? null : unescapeText(value);
}

function escapeText(text: string): string {
  return text.replace(specials, (character) => escaped[character] ?? character);
}

function unescapeText(text: string): string {
  return text.includes("\\")
    ? text.replace(escapes, (_, letter: string) => unescaped[letter] ?? letter)
    : text;
}
