// Makes of a plant what the page gets: its values are texts.

import { ApiError } from "../../base/errors.ts";
import type { Collection, Values } from "../../contract/contract.ts";
import type { RecordedPlant } from "../../plants/edits.ts";
import type { StoredPlant } from "../../store/shared/plant-rows.ts";

/** Lists and the history cut texts at this length, in UTF-16 code units. */
export const listedLength = 300;

/**
 * @param names those of creators, by their keys.
 * @param lengthMax longer texts are cut, in UTF-16 code units.
 */
export function toShown(
  collection: Collection,
  { id, values, createdAt, creator, version }: StoredPlant,
  names: ReadonlyMap<number, string>,
  lengthMax?: number,
) {
  const token = creator === null ? undefined : names.get(creator);
  return {
    id,
    values: toTexts(collection, values, lengthMax),
    createdAt: new Date(createdAt).toISOString(),
    token: token?.slice(0, lengthMax) ?? null,
    /** An edit names it, to find plants that have changed since. */
    version: String(version),
  };
}

/**
 * The values of a plant as texts, in the order of the fields; null for a field that it does not
 * have.
 */
export function toTexts({ fields }: Collection, values: Values, lengthMax?: number) {
  return fields.map(({ type }, index) => {
    const value = values[index];
    return value === undefined ? null : type.format(value).slice(0, lengthMax);
  });
}

/** The changes of an edit: a field is null where there was no value, or is none. */
export function toChange(collection: Collection, before: RecordedPlant, after: RecordedPlant) {
  if (before instanceof ApiError || after instanceof ApiError)
    return { kind: "unreadable" as const, changes: [] };
  if (before === undefined) return { kind: "restored" as const, changes: [] };
  const [old, now] = [before, after].map((plant) => toTexts(collection, plant?.values ?? []));
  const changes = collection.fields.flatMap(({ name }, index) => {
    const [from, to] = [old?.[index] ?? null, now?.[index] ?? null];
    return from === to ? [] : [{ name, before: shorten(from), after: shorten(to) }];
  });
  return { kind: after === undefined ? ("deleted" as const) : ("changed" as const), changes };
}

function shorten(text: string | null): string | null {
  return text === null || text.length <= listedLength ? text : `${text.slice(0, listedLength)}…`;
}
