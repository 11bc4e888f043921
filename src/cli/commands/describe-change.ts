// Describes in one line how a plant was changed.

import { type Collection, type Values, valueEquals } from "../../contract/contract.ts";
import { plantJson } from "../../contract/plant.ts";
import type { FieldType, FieldValue } from "../../contract/stored-types.ts";

/** Characters of each value that are shown. */
const shownMax = 60;

/** Such as `tag "tree" → none`, or `deleted {"name":"Ficus"}`. */
export function describeChange(
  collection: Collection,
  before: Values | undefined,
  after: Values | undefined,
): string {
  if (before === undefined || after === undefined) {
    const values = before ?? after;
    const json = values === undefined ? "" : plantJson(collection, { id: "", values });
    const withoutId = json.replace(/^\{"(?:[^"\\]|\\.)*":(?:"")?,?/, "{");
    return `${after === undefined ? "deleted" : "restored"} ${shorten(withoutId)}`;
  }
  return collection.fields
    .flatMap((field, index) => {
      const [one, other] = [before[index], after[index]];
      return valueEquals(field, one, other)
        ? []
        : [`${field.name} ${show(field.type, one)} → ${show(field.type, other)}`];
    })
    .join(", ");
}

function show(type: FieldType, value: FieldValue | undefined): string {
  return value === undefined ? "none" : shorten(type.toJson(value));
}

function shorten(text: string): string {
  // A character has at most two code units.
  const characters = Array.from(text.slice(0, 2 * (shownMax + 1)));
  return characters.length <= shownMax ? text : `${characters.slice(0, shownMax).join("")}…`;
}
