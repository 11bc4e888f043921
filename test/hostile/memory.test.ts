// Rounds of hostile requests: the server takes no more of the machine after the last than after the first.

import { expect, test } from "bun:test";
import { badBodies } from "./bodies.ts";
import { framing } from "./framing.ts";
import { heads } from "./heads.ts";
import { Siege } from "./siege.ts";

const rounds = 4;

test(`memory and descriptors come back after ${rounds} rounds`, async () => {
  await using siege = await Siege.start();
  const rows = [...framing, ...heads, ...badBodies];
  await siege.hostile.unexpected(rows);
  const before = await siege.footprint();
  for (let round = 1; round < rounds; round++) await siege.hostile.unexpected(rows);
  await siege.isBackTo(before);
  expect(await siege.faults()).toEqual([]);
}, 120_000);
