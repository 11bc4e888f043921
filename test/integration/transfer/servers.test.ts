// Concurrent imports and servers that create the same ids: every outcome is exact.

import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { engines } from "../../support/engines.ts";
import { plantJson, post } from "../../support/http.ts";
import { jsonLines } from "../../support/output.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";
import { StoreFolder } from "../../support/store-folder.ts";
import { exported } from "../../support/stored-plants.ts";

/** An import commits 20,000 at a time: more than one batch. */
const count = 24_000;
const idOf = (index: number) => BigInt.asIntN(64, BigInt(index) * 0x9e37_79b9_7f4a_7c15n);

/** A pseudo-random index below `count`, the same in every run. */
const chosen = (index: number) => (index * 7_919) % count;

for (const engine of engines) {
  test(`${engine.name}: an import and three servers create the same ids, some with other names`, async () => {
    using folder = new TemporaryFolder();
    await using place = await engine.createTestStore();
    await using first = await RunningServer.startInProcess(place);
    await using second = await RunningServer.startInProcess(place);
    await using third = await RunningServer.startInProcess(place);
    const token = await first.createToken();
    const file = folder.file("plants.ndjson");
    const lines = Array.from({ length: count }, (_, index) => plantJson(idOf(index), "imported", `${index}`));
    writeFileSync(file, lines.join("\n"));

    const answered = new Map<number, number>();
    let next = 0;
    /** The statuses of creates of other plants than the file's: the line or the create has lost. */
    const ofOthers = new Set<number>();
    const createNext = async ({ url }: RunningServer) => {
      const index = chosen(next++);
      // Two of three are equal to the file's plants, the third is different.
      const isOther = index % 3 === 0;
      const line = isOther ? plantJson(idOf(index), "posted") : (lines[index] ?? "");
      let { status } = await post({ url, token }, line);
      // A row that the import holds for too long.
      while (status === 503) ({ status } = await post({ url, token }, line));
      answered.set(index, status);
      if (isOther) ofOthers.add(status);
    };
    await createNext(first);
    let isOver = false;
    const importing = runCommand(["import", file, "--database", place.database]).finally(() => {
      isOver = true;
    });
    let met = 0;
    const create = async (server: RunningServer) => {
      while (next < count && !(isOver && ofOthers.size === 2)) {
        await createNext(server);
        if (!isOver) met++;
      }
    };
    await Promise.all([first, second, third, first, second, third].map(create));
    const { exitCode, stderr } = await importing;

    const stored = new Map(
      (await exported(place.database))
        .trimEnd()
        .split("\n")
        .map((line) => [BigInt(/^\{"id":(-?\d+)/.exec(line)?.[1] ?? Number.NaN), line]),
    );
    expect(stored.size).toBe(count);
    const posted = [...answered].filter(([index]) => stored.get(idOf(index)) !== lines[index]);
    // A plant is stored if its response was 200, and is not if it was 400.
    for (const [index, status] of answered) {
      const wasOther = index % 3 === 0;
      const isOther = stored.get(idOf(index)) !== lines[index];
      expect({ index, status, isOther }).toEqual({
        index,
        status: wasOther === isOther ? 200 : 400,
        isOther,
      });
    }
    expect(met).toBeGreaterThan(0);
    // The import rejected the lines whose ids were taken by other plants, each with its own number.
    const refused = posted.map(([index]) => index + 1).toSorted((one, other) => one - other);
    expect(exitCode).toBe(3);
    expect(stderr).toContain(`${refused.length.toLocaleString("en")} rejected`);
    const reports = jsonLines(readFileSync(`${file}.rejected.ndjson`, "utf8"));
    expect(reports.map(({ line, error }) => [line, error])).toEqual(refused.map((line) => [line, 40009]));
  });

  test(`${engine.name}: of lines with one id the first is created, at any distance`, async () => {
    await using store = await StoreFolder.create([], engine);
    const lines = Array.from({ length: count }, (_, index) => plantJson(idOf(index), `plant ${index}`));
    const repetitions = [0, 1, 2_500, count - 1].flatMap((index) => [
      plantJson(idOf(index), "other"),
      lines[index] ?? "",
    ]);
    const file = store.write("plants.ndjson", [...lines, ...repetitions].join("\n"));
    const { exitCode, stderr } = await store.run("import", file);
    expect({ exitCode, stderr }).toEqual({
      exitCode: 3,
      stderr: expect.stringContaining(
        `24,000 created, 4 already stored, 4 rejected; see ${file}.rejected.ndjson\n`,
      ),
    });
    const reports = jsonLines(readFileSync(`${file}.rejected.ndjson`, "utf8"));
    expect(reports.map(({ line }) => line)).toEqual([1, 3, 5, 7].map((offset) => count + offset));
  });
}
