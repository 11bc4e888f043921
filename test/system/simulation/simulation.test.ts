// The simulation finds no violation, is deterministic for a seed, and finds every planted bug.

import { describe, expect, test } from "bun:test";
import { runProgram } from "../../support/server.ts";
import { mutations } from "./mutations.ts";
import { simulate } from "./simulation.ts";

/** The seeds within which every planted bug must be found. */
const seedsToFind = 1_000;

/** `npm run faults` runs 20,000. */
const seeds = Number(process.env.PLANTSTORE_TEST_SEEDS ?? 400);

/** Runs the simulation's command. */
const run = (...args: readonly string[]) =>
  runProgram([process.execPath, new URL("main.ts", import.meta.url).pathname, ...args]);

// Each half in a process of its own, to use both processors.
test(`no acknowledged plant is lost in ${seeds} seeds`, async () => {
  const half = Math.ceil(seeds / 2);
  const runs = await Promise.all([
    run("--seeds", String(half)),
    run("--seeds", String(half), "--from", String(1 + half)),
  ]);
  for (const { stdout, exitCode } of runs) {
    expect(stdout).toStartWith(`0 of ${half} seeds failed`);
    expect(exitCode).toBe(0);
  }
});

test("the same seed gives the same events", async () => {
  for (const seed of [11, 12]) {
    const traces: string[][] = [[], []];
    for (const trace of traces) await simulate(seed, { trace: (line) => trace.push(line) });
    expect(traces[0]?.length).toBeGreaterThan(10);
    expect(traces[0]).toEqual(traces[1] ?? []);
  }
  const hash = async () => JSON.parse((await run("--seed", "15")).stdout).hash;
  expect(await hash()).toBe((await simulate(15)).hash);
});

describe("a planted bug is found", () => {
  const bugs = Object.entries(mutations).filter(([name]) => name !== "none");
  test.each(bugs)("%s", async (_, mutation) => {
    let found: string | undefined;
    for (let seed = 1; seed <= seedsToFind && found === undefined; seed++)
      found = (await simulate(seed, { mutation })).violations[0];
    expect(found).toBeDefined();
  });
});

test("a failed seed is printed with the command that replays it", async () => {
  const { stdout, exitCode } = await run("--seeds", "1", "--mutation", "acknowledgesBeforeTheCommit");
  expect(exitCode).toBe(1);
  const again = /again: npm run simulate -- (.*)/.exec(stdout)?.[1]?.split(" ") ?? [];
  expect(again).toEqual(["--seed", "1", "--trace", "--mutation", "acknowledgesBeforeTheCommit"]);
  const replayed = await run(...again);
  expect(replayed.exitCode).toBe(1);
  expect(replayed.stdout).toContain("too early");
});
