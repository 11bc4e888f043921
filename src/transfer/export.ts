// Exports plants as text in a format.

import type { Collection, Field } from "../contract/contract.ts";
import { plantJson } from "../contract/plant.ts";
import { creatorNames } from "../plants/stored-plants.ts";
import type { StoredPlant } from "../store/shared/plant-rows.ts";
import type { SqlConnection } from "../store/sql-connection.ts";
import { creationNames } from "./csv.ts";
import { type ExportedMembers, exportedMembers, formatCsvCell, formatCsvRecord } from "./csv-records.ts";
import type { FormatName } from "./format-names.ts";

/**
 * The text of plants in a format, in chunks.
 *
 * @param creators reads the names of those who created the plants, for a text with these and the times.
 */
export async function* exportText(
  collection: Collection,
  plants: AsyncIterable<readonly StoredPlant[]>,
  format: FormatName,
  creators?: Pick<SqlConnection, "query">,
): AsyncGenerator<string> {
  const members = exportedMembers(collection);
  const csvOf = (plant: StoredPlant, names: CreatorNames | undefined) => {
    const record = formatCsvRecord(collection, plant, members);
    return names ? `${record},${creationCells(plant, names)}` : record;
  };
  const jsonOf = (plant: StoredPlant, names: CreatorNames | undefined) =>
    names ? withCreationJson(collection, plant, names) : plantJson(collection, plant);
  const textOf = { ndjson: jsonOf, csv: csvOf }[format];
  if (format === "csv") yield headerOf(collection, members, creators !== undefined);
  for await (const some of plants) {
    const names = creators && (await creatorNames(creators, some));
    // Concatenated, which takes half the time of an array and join.
    let text = "";
    for (const plant of some) text = `${text}${textOf(plant, names)}\n`;
    yield text;
  }
}

function headerOf(collection: Collection, members: ExportedMembers, hasCreation: boolean): string {
  const { id, fields } = collection;
  const namesOf = (field: Field) => (members.get(field) ?? []).map((path) => [field.name, ...path].join("."));
  const own = [id.name, ...fields.flatMap((field) => [...namesOf(field), field.name])];
  const names = hasCreation ? [...own, ...creationNames(collection)] : own;
  return `${names.map((name) => formatCsvCell(name)).join()}\n`;
}

/** The cells of when and by whom a plant was created; empty for what is not known. */
function creationCells(plant: StoredPlant, names: CreatorNames): string {
  return creationOf(plant, names)
    .map((value) => formatCsvCell(value ?? undefined))
    .join();
}

/** A plant as JSON, with when and by whom it was created. */
export function withCreationJson(collection: Collection, plant: StoredPlant, names: CreatorNames): string {
  const values = creationOf(plant, names);
  const members = creationNames(collection).map(
    (name, index) => `"${name}":${JSON.stringify(values[index])}`,
  );
  return `${plantJson(collection, plant).slice(0, -1)},${members.join()}}`;
}

type CreatorNames = ReadonlyMap<number, string>;

/** The time is RFC 3339, in UTC. */
function creationOf({ createdAt, creator }: StoredPlant, names: CreatorNames): readonly (string | null)[] {
  return [new Date(createdAt).toISOString(), (creator !== null && names.get(creator)) || null];
}
