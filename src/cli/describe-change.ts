// One line about how a plant changed.

import { type FieldName, fieldNames, fieldsEqual, fieldValue, typeOf } from "../core/contract/fields.ts";
import { type Plant, toJsonPlant } from "../core/contract/plant.ts";

/** Characters of each value that are shown. */
const shownMax = 60;

/** Such as `tag "tree" → none`, or `deleted {"name":"Ficus"}`. */
export function describeChange(before: Plant | undefined, after: Plant | undefined): string {
  if (before === undefined || after === undefined) {
    const plant = before ?? after;
    const json = plant === undefined ? "" : JSON.stringify(toJsonPlant(plant));
    return `${after === undefined ? "deleted" : "restored"} ${shorten(json)}`;
  }
  return fieldNames
    .filter((field) => !fieldsEqual(before, after, field))
    .map((field) => `${field} ${show(before, field)} → ${show(after, field)}`)
    .join(", ");
}

function show(plant: Plant, field: FieldName): string {
  const value = fieldValue(plant, field);
  return value === undefined ? "none" : shorten(JSON.stringify(typeOf(field).toJson(value)));
}

function shorten(text: string): string {
  // A character has at most two code units.
  const characters = Array.from(text.slice(0, 2 * (shownMax + 1)));
  return characters.length <= shownMax ? text : `${characters.slice(0, shownMax).join("")}…`;
}
