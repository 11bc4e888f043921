// NDJSON: a line is a body as the API takes it.

import { readNewPlant } from "../contract/plant.ts";
import type { Entry } from "./import.ts";
import { linesOf } from "./lines.ts";

/** The entries of an NDJSON stream. */
export async function* ndjsonEntries(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Entry> {
  for await (const { number, bytes } of linesOf(chunks)) {
    const plant = readNewPlant(bytes);
    yield { line: number, text: () => new TextDecoder().decode(bytes), plant };
  }
}
