// Exports plants as text in a format.

import { fieldNames } from "../core/contract/fields.ts";
import { newPlantJson } from "../core/contract/plant.ts";
import { formatCsvCell, formatCsvRecord } from "./csv-records.ts";
import type { FormatName } from "./format.ts";
import type { StoredPlant } from "./stored-plants.ts";

/**
 * The text of plants in a format, in chunks.
 *
 * @param withCreation Adds fields of when and by whom a plant was created, which an import ignores.
 */
export async function* exportText(
  plants: AsyncIterable<readonly StoredPlant[]>,
  format: FormatName,
  withCreation = false,
): AsyncGenerator<string> {
  const header = ["id", ...fieldNames, ...(withCreation ? ["createdAt", "token"] : [])];
  if (format === "csv") yield `${header.join()}\n`;
  const formatPlant = formatter(format, withCreation);
  for await (const some of plants) {
    // Concatenated: 2 million plants take 0.37 s, and 0.7 s with an array and join.
    let text = "";
    for (const plant of some) text += `${formatPlant(plant)}\n`;
    yield text;
  }
}

/** Formats one plant, without a line end. */
function formatter(format: FormatName, withCreation: boolean): (plant: StoredPlant) => string {
  if (format === "ndjson") return withCreation ? withCreationJson : newPlantJson;
  if (!withCreation) return formatCsvRecord;
  return (plant) => {
    const { createdAt, token } = creationOf(plant);
    // The cell of an unknown value is empty.
    const cells = [createdAt, token].map((value) => formatCsvCell(value ?? undefined));
    return [formatCsvRecord(plant), ...cells].join();
  };
}

/** A plant as JSON, with when and by whom it was created. */
export function withCreationJson(plant: StoredPlant): string {
  return `${newPlantJson(plant).slice(0, -1)},${JSON.stringify(creationOf(plant)).slice(1)}`;
}

/** The time is RFC 3339, in UTC. */
function creationOf({ creation }: StoredPlant): { createdAt: string | null; token: string | null } {
  const { createdAt = null, token = null } = creation ?? {};
  return { createdAt: createdAt === null ? null : new Date(createdAt).toISOString(), token };
}
