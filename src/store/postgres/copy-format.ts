// Writes plants in the text format of COPY (PostgreSQL manual, "COPY", "Text Format"): columns are
// separated by tabs, rows end with a line feed, \N is null, and special characters are escaped with
// a backslash.

import type { Collection, Field } from "../../contract/contract.ts";
import type { NewEntry } from "../plant-store.ts";
import { keepsKeys } from "../shared/create-key.ts";

const specials = /[\\\t\n\r]/g;

const escaped: Readonly<Record<string, string>> = { "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r" };

/**
 * Formats entries as rows of the id, the fields, the time, the creator, and the key and the marker
 * where they have one.
 *
 * @param ownKey that of entries whose key is null.
 */
export function toCopyText(
  collection: Collection,
  entries: readonly NewEntry[],
  createdAt: number,
  ownKey: string,
): string {
  const { fields } = collection;
  const hasKeys = keepsKeys(collection);
  const end = collection.marker === undefined ? "\n" : "\t\\N\n";
  let text = "";
  for (const { plant, creator, key, createdAt: own = createdAt } of entries) {
    text += typeof plant.id === "bigint" ? plant.id : escapeText(plant.id);
    for (let index = 0; index < fields.length; index++) {
      const value = plant.values[index];
      // The text of the column: a value and null are apart in it.
      text +=
        value === undefined
          ? "\t\\N"
          : `\t${escapeText(String((fields[index] as Field).type.toColumn(value)))}`;
    }
    text += `\t${own}\t${creator ?? "\\N"}`;
    if (hasKeys) text += `\t${key === null ? ownKey : (key ?? "\\N")}`;
    text += end;
  }
  return text;
}

function escapeText(text: string): string {
  return text.replace(specials, (character) => escaped[character] ?? character);
}
