// A short run of the fuzzer: its corpus, and some thousand edits of it.

import { expect, test } from "bun:test";
import { authorizationTarget } from "./authorization-target.ts";
import { bodyTarget } from "./body-target.ts";
import { fuzz } from "./fuzzer.ts";

const seed = Date.now() % 1e9;
const numRuns = 20_000;

test(`the readers of bodies and of Authorization agree with independent oracles (--seed ${seed})`, async () => {
  await using authorization = await authorizationTarget();
  for (const target of [bodyTarget, authorization])
    expect(await fuzz(target, { seed, numRuns })).toBe(numRuns);
});
