// import and export hold a part of a file in memory at any time, whatever its size: their peak
// stays below the size of what passes through them. Real processes, as the kernel counts.

import { expect, test } from "bun:test";
import { closeSync, openSync, readFileSync, statSync, writeFileSync, writeSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { plantJson } from "../../support/http.ts";
import { createStore, plantstore, TemporaryFolder } from "../../support/server.ts";

const MiB = 2 ** 20;

/**
 * The collector sizes its heap as on a machine with so much memory: otherwise garbage hides what is
 * held.
 */
const machineBytes = 128 * MiB;
/** Measured: 75 to 172 MiB, of which Bun has some 60. */
const peakBytesMax = 240 * MiB;

/** Measured: 236 to 276 MiB with 200 stored plants at a time, 500 with all of a batch. */
const updatePeakBytesMax = 360 * MiB;

const large = { lines: 2_600, lineBytes: 100_000 };
/** Memory for each plant, not for each byte, shows only with many plants: npm run faults. */
const small = { lines: Number(process.env.PLANTSTORE_TEST_PLANTS ?? 0), lineBytes: 200 };
const shapes = [large, small].filter(({ lines }) => lines > 0);

/**
 * The largest resident memory of a command. Read while it runs: what the kernel counts afterwards
 * includes the memory of the process that started it, from before it became another program.
 */
async function peakBytes(
  args: readonly string[],
  output = "/dev/null",
  stderr = /^(?:[\d,]+ created, .*\n)?$/,
): Promise<number> {
  const child = Bun.spawn([plantstore, ...args], {
    env: { PATH: process.env.PATH, BUN_JSC_forceRAMSize: String(machineBytes) },
    stdout: Bun.file(output),
    stderr: "pipe",
  });
  let peak = 0;
  while (child.exitCode === null) {
    peak = Math.max(peak, peakSoFar(child.pid));
    await Bun.sleep(20);
  }
  expect(await child.stderr.text()).toMatch(stderr);
  return peak;
}

function peakSoFar(pid: number): number {
  try {
    const [, kB = 0] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return Number(kB) * 1_024;
  } catch {
    // It has just ended.
    return 0;
  }
}

/** Writes a file larger than the peak may be. */
function writeLines(file: string, lines: number, line: (index: number) => string): void {
  const descriptor = openSync(file, "w");
  for (let index = 0; index < lines; index += 100) {
    const count = Math.min(100, lines - index);
    writeSync(descriptor, Array.from({ length: count }, (_, more) => line(index + more)).join(""));
  }
  closeSync(descriptor);
  expect(statSync(file).size).toBeGreaterThan(peakBytesMax);
}

for (const engine of engines) {
  test.each(shapes)(
    `${engine.name}: import, export and import again of %p hold a part of them`,
    async ({ lines, lineBytes }) => {
      using folder = new TemporaryFolder();
      await using place = await engine.createTestStore();
      const { database } = place;
      await createStore(database);
      const [file, csv, array] = ["plants.ndjson", "plants.csv", "plants.json"].map((name) =>
        folder.file(name),
      ) as [string, string, string];
      const line = (id: number) =>
        `${plantJson(BigInt(id), `Monstera ${id} `.padEnd(lineBytes, "x"), "tropical")}\n`;
      writeLines(file, lines, line);
      const measure = async (args: readonly string[], output?: string, bytesMax = peakBytesMax) =>
        expect(await peakBytes([...args, "--database", database], output)).toBeLessThan(bytesMax);
      await measure(["import", file]);
      await measure(["export"]);
      // The format does not depend on the engine.
      if (engine.name !== "sqlite") return;
      await measure(["export", "--format", "csv"], csv);
      expect(statSync(csv).size).toBeGreaterThan(peakBytesMax);
      // Every plant is stored already.
      await measure(["import", csv]);
      writeLines(
        array,
        lines,
        (id) => `${id === 0 ? "[" : ","}${line(id).trimEnd()}${id === lines - 1 ? "]" : ""}`,
      );
      await measure(["import", array]);
      const short = Array.from({ length: lines }, (_, id) => `${plantJson(BigInt(id), "Monstera")}\n`);
      writeFileSync(file, short.join(""));
      for (const flags of [["--dry-run"], []])
        await measure(["import", file, "--update", ...flags], undefined, updatePeakBytesMax);
    },
  );
}

test.each([
  [
    "refused plants",
    `{"id":1,"name":5,"tag":"${"x".repeat(100_000)}"}\n`,
    /^0 created, .* rejected; see .*\n$/,
  ],
  [
    "a line without an end",
    "x".repeat(100_000),
    /^plantstore: the record in line 1 is longer than 16777216 .*\n$/,
  ],
])("a file of %s is not held either", async (_, line, message) => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await createStore(database);
  const file = folder.file("refused.ndjson");
  writeLines(file, large.lines, () => line);
  const args = ["import", file, "--database", database, "--body-bytes-max", "1000000"];
  expect(await peakBytes(args, "/dev/null", message)).toBeLessThan(peakBytesMax);
});
