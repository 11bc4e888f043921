// Plants out: the text of a selection, as it comes from the store.

import type { StoredPlant } from "../store/plant-store.ts";
import type { Delimiter } from "./csv-records.ts";
import { type FormatName, formats } from "./format.ts";

/**
 * The text of plants in a format, piece by piece.
 *
 * @param delimiter What stands between the cells of CSV.
 * @param onPlants Called after each piece was taken, with the number of plants so far.
 */
export async function* exportText(
  plants: AsyncIterable<readonly StoredPlant[]>,
  format: FormatName,
  delimiter: Delimiter,
  onPlants: (plants: number) => void,
): AsyncGenerator<string> {
  const { head, text } = formats[format];
  yield head(delimiter);
  let count = 0;
  for await (const some of plants) {
    yield text(some, delimiter);
    count += some.length;
    onPlants(count);
  }
}
