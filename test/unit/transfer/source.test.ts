// The source of an import.

import { expect, test } from "bun:test";
import { openSource } from "../../../src/transfer/source.ts";

test("an interrupted import does not wait for a writer that keeps its pipe open", async () => {
  const interrupt = new AbortController();
  using source = openSource("-", interrupt.signal, () => new ReadableStream());
  const reading = Array.fromAsync(source.chunks);
  interrupt.abort();
  expect(await reading).toEqual([]);
});
