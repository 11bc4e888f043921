// Exports plants as text in a format.

import type { StoredPlant } from "../core/store/plant-store.ts";
import type { Delimiter } from "./csv-records.ts";
import { type FormatName, exportFormats as formats } from "./format.ts";

/**
 * The text of plants in a format, in chunks.
 *
 * @param delimiter The delimiter of CSV cells.
 * @param onPlants Called after each chunk was consumed, with the number of plants so far.
 * @param withCreation Whether the plants have creations, see ExportFilter.
 */
export async function* exportText(
  plants: AsyncIterable<readonly StoredPlant[]>,
  format: FormatName,
  delimiter: Delimiter,
  onPlants: (plants: number) => void,
  withCreation = false,
): AsyncGenerator<string> {
  const { header, text } = formats[withCreation ? (`${format}WithCreation` as const) : format];
  yield header(delimiter);
  let count = 0;
  for await (const some of plants) {
    yield text(some, delimiter);
    count += some.length;
    onPlants(count);
  }
}
