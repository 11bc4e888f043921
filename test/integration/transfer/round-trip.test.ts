// Export and import between all engines, with any strings, are lossless.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import fc from "fast-check";
import type { Plant } from "../../../src/contract/contract.ts";
import { plantJson } from "../../../src/contract/plant.ts";
import { plant, plantStore } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { anyPlant } from "../../support/random.ts";
import { createStore, runCommand, TemporaryFolder } from "../../support/server.ts";
import { exported } from "../../support/stored-plants.ts";

/** More than one batch of an import. */
const plantsInFile = 3_000;

/** Strings that formats and databases often get wrong. */
const hostile = [
  ...["", " ", "\t", "\n", "\r", "\r\n", "\v\f\b", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufeffx"],
  ...String.raw`\ \N \. \n ' " "" , ; | = # NULL null undefined =1+1 @cmd -1 1e3`.split(" "),
  ..."\u0001 \u007f \u0080 \u009f \ufffd \ufffe \uffff e\u0301 \u202e 🌱 👩‍🌾".split(" "),
  // The first and the last character of each plane.
  ...Array.from({ length: 17 }, (_, plane) =>
    String.fromCodePoint(plane * 0x10000 + 0x21, plane * 0x10000 + 0xfffd),
  ),
];

function hostilePlants(seed: number): Plant[] {
  const random = fc.sample(anyPlant, { numRuns: plantsInFile, seed });
  const chosen = hostile.flatMap((text, index): Plant[] => [
    plant({ id: BigInt(3 * index), name: text }),
    plant({ id: BigInt(3 * index + 1), name: `a${text}b`, tag: text }),
    plant({ id: BigInt(3 * index + 2), name: `${text}${text}`, tag: `\n${text}` }),
  ]);
  const unique = new Map([...random, ...chosen].map((plant) => [plant.id, plant]));
  return [...unique.values()];
}

function ndjson(plants: readonly Plant[]): string {
  const sorted = plants.toSorted((one, other) => (one.id < other.id ? -1 : 1));
  return sorted.map((plant) => `${plantJson(plantStore, plant)}\n`).join("");
}

for (const [index, format] of ["ndjson", "csv"].entries()) {
  for (const [turn, [first, second]] of [
    [engines[0], engines[1]],
    [engines[1], engines[0]],
  ].entries()) {
    if (first === undefined || second === undefined) continue;
    test(`${first.name} -> ${format} -> ${second.name} -> ${format} -> ${first.name} is the same`, async () => {
      using folder = new TemporaryFolder();
      const plants = hostilePlants(2 * index + turn);
      const count = plants.length.toLocaleString("en");
      writeFileSync(
        folder.file("0.ndjson"),
        plants.map((plant) => `${plantJson(plantStore, plant)}\n`).join(""),
      );
      let file = folder.file("0.ndjson");
      for (const [step, engine] of [first, second, first].entries()) {
        await using place = await engine.createTestStore();
        await createStore(place.database);
        const { stderr } = await runCommand(["import", file, "--database", place.database]);
        expect(stderr).toBe(`${count} created, 0 already stored, 0 rejected\n`);
        if (step === 0) {
          const again = await runCommand(["import", file, "--database", place.database]);
          expect(again.stderr).toBe(`0 created, ${count} already stored, 0 rejected\n`);
        }
        expect(await exported(place.database)).toBe(ndjson(plants));
        file = folder.file(`${step + 1}.${format}`);
        const run = await runCommand(["export", "--format", format, "--database", place.database]);
        expect(run.exitCode).toBe(0);
        writeFileSync(file, run.stdout);
      }
      // The last file passed through both engines, the first through one.
      expect(readFileSync(file).equals(readFileSync(folder.file(`1.${format}`)))).toBe(true);
    });
  }
}
