// Plants in the text format of COPY (PostgreSQL manual, "COPY", "Text Format"): columns are
// separated by tabs, rows end with a line feed, \N is null, and special characters are escaped with
// a backslash.

import { fieldNames, fieldValue, typeOf } from "../../contract/fields.ts";
import type { NewEntry } from "../plant-store.ts";

const specials = /[\\\t\n\r]/g;

const escaped: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

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

function escapeText(text: string): string {
  return text.replace(specials, (character) => escaped[character] ?? character);
}
