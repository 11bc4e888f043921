// Memory does not grow with a file: four times the plants, about the same peak. Real processes, as the kernel counts.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { plantJson } from "../../support/http.ts";
import { createStore, plantstore, TemporaryFolder } from "../../support/server.ts";

/** Of fewer the garbage collector has not found its measure yet: up to some 300,000 plants it lets the heap grow. */
const [few, many] = [250_000, 1_000_000];

/** Where a command held what it reads, four times the plants would be more than twice the memory. */
const growthMax = 1.8;

/**
 * The largest resident memory of a command, in KiB. Read while it runs: what the kernel tells afterwards counts the
 * memory of the process that started it as well, from before it became another program.
 */
async function peakOf(args: readonly string[], output = "/dev/null"): Promise<number> {
  const child = Bun.spawn([plantstore, ...args, "--quiet"], { stdout: Bun.file(output), stderr: "pipe" });
  let peak = 0;
  while (child.exitCode === null) {
    peak = Math.max(peak, peakSoFar(child.pid));
    await Bun.sleep(5);
  }
  expect(await child.stderr.text()).toBe("");
  return peak;
}

function peakSoFar(pid: number): number {
  try {
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    // It has just ended.
    return 0;
  }
}

for (const engine of engines) {
  test(`${engine.name}: import, import again and export take as much memory for ${many} plants as for ${few}`, async () => {
    using folder = new TemporaryFolder();
    const peaksOf = async (count: number) => {
      await using place = await engine.newPlace();
      const { database } = place;
      await createStore(database);
      const file = folder.file(`${count}.ndjson`);
      const csv = folder.file(`${count}.csv`);
      const ids = Array.from({ length: count }, (_, index) => BigInt(index));
      writeFileSync(
        file,
        ids
          .map((id) => `${plantJson(id, `Monstera deliciosa ${id} `.padEnd(200, "x"), "tropical")}\n`)
          .join(""),
      );
      return [
        await peakOf(["import", file, "--database", database]),
        await peakOf(["import", file, "--database", database]),
        await peakOf(["export", "--database", database]),
        await peakOf(["export", "--format", "csv", "--database", database], csv),
        await peakOf(["import", csv, "--database", database]),
      ];
    };
    const before = await peaksOf(few);
    const growth = (await peaksOf(many)).map((peak, index) => peak / (before[index] ?? Number.NaN));
    expect(growth.filter((factor) => !(factor < growthMax))).toEqual([]);
  }, 180_000);
}

test("a file of nothing but refusals takes no more, and neither does a line without an end", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await createStore(database);
  const peakOfFile = async (line: string, count: number) => {
    const file = folder.file("refused.ndjson");
    writeFileSync(file, line.repeat(count));
    return peakOf(["import", file, "--database", database, "--record-bytes-max", "1000000"]);
  };
  const refused = [await peakOfFile('{"id": 1}\n', few), await peakOfFile('{"id": 1}\n', many)];
  expect((refused[1] ?? 0) / (refused[0] ?? 0)).toBeLessThan(growthMax);
  const endless = [await peakOfFile("x".repeat(1_000), 20_000), await peakOfFile("x".repeat(1_000), 100_000)];
  expect((endless[1] ?? 0) / (endless[0] ?? 0)).toBeLessThan(growthMax);
}, 60_000);
