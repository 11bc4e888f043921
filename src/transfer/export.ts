// Exports plants as text in a format.

import type { Collection } from "../contract/contract.ts";
import { plantJson } from "../contract/plant.ts";
import type { StoredPlant } from "../plants/stored-plants.ts";
import { columnNames, creationNames } from "./csv.ts";
import { formatCsvCell, formatCsvRecord } from "./csv-records.ts";
import type { FormatName } from "./format-names.ts";

/**
 * The text of plants in a format, in chunks.
 *
 * @param withCreation Adds fields of when and by whom a plant was created, which an import ignores.
 */
export async function* exportText(
  collection: Collection,
  plants: AsyncIterable<readonly StoredPlant[]>,
  format: FormatName,
  withCreation = false,
): AsyncGenerator<string> {
  const header = [...columnNames(collection), ...(withCreation ? creationNames(collection) : [])];
  if (format === "csv") yield `${header.map((name) => formatCsvCell(name)).join()}\n`;
  const formatPlant = {
    ndjson: withCreation ? withCreationJson : plantJson,
    csv: withCreation ? withCreationRecord : formatCsvRecord,
  }[format];
  for await (const some of plants) {
    // Concatenated: 2 million plants take 0.37 s, and 0.7 s with an array and join.
    let text = "";
    for (const plant of some) text = `${text}${formatPlant(collection, plant)}\n`;
    yield text;
  }
}

/** A record of CSV with when and by whom the plant was created. */
function withCreationRecord(collection: Collection, plant: StoredPlant): string {
  // The cell of an unknown value is empty.
  const cells = creationOf(plant).map((value) => formatCsvCell(value ?? undefined));
  return [formatCsvRecord(collection, plant), ...cells].join();
}

/** A plant as JSON, with when and by whom it was created. */
export function withCreationJson(collection: Collection, plant: StoredPlant): string {
  const values = creationOf(plant);
  const members = creationNames(collection).map(
    (name, index) => `"${name}":${JSON.stringify(values[index])}`,
  );
  return `${plantJson(collection, plant).slice(0, -1)},${members.join()}}`;
}

/** The time is RFC 3339, in UTC. */
function creationOf({ creation }: StoredPlant): readonly (string | null)[] {
  return creation === undefined ? [null, null] : [new Date(creation.createdAt).toISOString(), creation.token];
}
