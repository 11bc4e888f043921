// One line about how a plant changed.

import { fieldNames } from "../core/contract/fields.ts";
import { type Plant, toPlant } from "../core/contract/plant.ts";

/** Characters of each value that are shown. */
const shownMax = 60;

/** Such as `tag "tree" → none`, or `deleted {"name":"Ficus"}`. */
export function describeChange(before: Plant | undefined, after: Plant | undefined): string {
  if (before === undefined || after === undefined) {
    const plant = before ?? after;
    const json = plant === undefined ? "" : JSON.stringify(toPlant(plant));
    return `${after === undefined ? "deleted" : "restored"} ${shorten(json)}`;
  }
  return fieldNames
    .filter((field) => before[field] !== after[field])
    .map((field) => `${field} ${show(before[field])} → ${show(after[field])}`)
    .join(", ");
}

function show(value: unknown): string {
  return value === undefined ? "none" : shorten(JSON.stringify(value));
}

function shorten(text: string): string {
  // A character has at most two code units.
  const characters = Array.from(text.slice(0, 2 * (shownMax + 1)));
  return characters.length <= shownMax ? text : `${characters.slice(0, shownMax).join("")}…`;
}
