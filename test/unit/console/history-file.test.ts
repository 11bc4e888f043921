// The file of the charts: samples survive a restart, damaged lines are skipped, and the file stays small.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { HistoryFile } from "../../../src/console/history-file.ts";
import { minuteMs, RecentSamples, sampleMs, samplesMax } from "../../../src/console/recent-samples.ts";
import { TemporaryFolder } from "../../support/server.ts";

const start = 2_000_000 * minuteMs;

function rethrow(error: unknown): never {
  throw error;
}

/** A server that starts at a time and creates some plants at once. */
function startAt(
  path: string,
  epochMs: number,
  created: number,
  onError: (error: unknown) => void = rethrow,
) {
  const samples = new RecentSamples(epochMs, epochMs);
  const file = new HistoryFile(path, samples, epochMs, onError);
  samples.handle({ kind: "plantsImported", created, unchanged: 0, endedAt: epochMs });
  return { samples, file };
}

const importedOf = (samples: RecentSamples, now: number) =>
  samples.since(sampleMs, 0, now).samples.map((sample) => sample?.imported ?? null);

test("samples continue after a stop, after a kill without the last one, and after lines that are damaged", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db-history");
  const first = startAt(path, start, 3);
  await first.file.update(start + sampleMs);
  first.samples.handle({ kind: "plantsImported", created: 4, unchanged: 0, endedAt: start + sampleMs });
  await first.file.end(start + sampleMs + 1_000);
  expect(statSync(path).mode & 0o777).toBe(0o600);

  // In the same five seconds, then a pause.
  const second = startAt(path, start + sampleMs + 2_000, 5);
  await second.file.update(start + 2 * sampleMs);
  expect(importedOf(second.samples, start + 2 * sampleMs)).toEqual([3, 9]);
  second.samples.handle({
    kind: "plantsImported",
    created: 100,
    unchanged: 0,
    endedAt: start + 2 * sampleMs,
  });
  writeFileSync(
    path,
    `${readFileSync(path, "utf8")}{"at":12,"crea\nnull\n{"at":"x"}\n{"at":5,"other":1}\n{"at":1e9,"p50`,
  );

  const third = startAt(path, start + 5 * sampleMs, 6);
  await third.file.update(start + 6 * sampleMs);
  expect(importedOf(third.samples, start + 6 * sampleMs)).toEqual([3, 9, null, null, null, 6]);
  expect(third.samples.since(minuteMs, 0, start + 6 * sampleMs).samples[0]?.imported).toBe(18);
});

test("two days of samples leave the minutes of one day, in a file that stays bounded", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("history");
  const { samples, file } = startAt(path, start, 1);
  let now = start;
  let bytesMax = 0;
  for (let hour = 0; hour < 48; hour++) {
    for (let sample = 0; sample < samplesMax; sample++) {
      now += sampleMs;
      samples.handle({ kind: "plantsImported", created: 1, unchanged: 0, endedAt: now });
    }
    await file.update(now);
    bytesMax = Math.max(bytesMax, statSync(path).size);
  }
  expect(bytesMax).toBeLessThan(400_000);
  expect(existsSync(`${path}.partial`)).toBe(false);
  await file.end(now);

  const next = startAt(path, now + sampleMs, 0);
  await next.file.update(now + sampleMs);
  const minutes = next.samples.since(minuteMs, 0, now + sampleMs).samples;
  expect(minutes.length).toBe(1_440);
  expect(minutes.slice(1, -1).every((sample) => sample?.imported === 12)).toBe(true);
  // All but that of the stop.
  expect(
    next.samples.since(sampleMs, 0, now + sampleMs).samples.filter((sample) => sample?.imported === 1).length,
  ).toBe(samplesMax - 1);
});

test("a file that cannot be written is reported, and the charts continue in memory", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("history");
  mkdirSync(path);
  const errors: unknown[] = [];
  const { samples, file } = startAt(path, start, 1, (error) => errors.push(error));
  await file.update(start + sampleMs);
  expect(errors.map((error) => (error as NodeJS.ErrnoException).code)).toContain("EISDIR");
  expect(importedOf(samples, start + sampleMs)).toEqual([1]);
});
