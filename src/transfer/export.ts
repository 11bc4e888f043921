// Plants out: the text of a selection, as it comes from the store.

import type { StoredPlant } from "../store/plant-store.ts";
import { type FormatName, formats } from "./format.ts";

/**
 * The text of plants in a format, piece by piece.
 *
 * @param onPlants Called after each piece was taken, with the number of plants so far.
 */
export async function* exportText(
  plants: AsyncIterable<readonly StoredPlant[]>,
  format: FormatName,
  onPlants: (plants: number) => void,
): AsyncGenerator<string> {
  const { head, text } = formats[format];
  yield head;
  let count = 0;
  for await (const some of plants) {
    yield text(some);
    count += some.length;
    onPlants(count);
  }
}
