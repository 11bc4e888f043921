// A short run of the fuzzer: its corpus, and some thousand edits of it.

import { expect, test } from "bun:test";
import { checkBody, words } from "./body.ts";
import { fuzz } from "./fuzzer.ts";

const seed = Date.now() % 1e9;
const numRuns = 20_000;

test(`bodies are read as an independent oracle reads them (--seed ${seed})`, async () => {
  expect(await fuzz(checkBody, words, { seed, numRuns })).toBe(numRuns);
});
