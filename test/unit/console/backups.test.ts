// The console's backup with a copy that the test ends.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { Backups } from "../../../src/console/backups.ts";
import { eventually } from "../../support/eventually.ts";
import { TemporaryFolder } from "../../support/server.ts";

function backupsIn(folder: TemporaryFolder, storeBytes = 1_000): Backups {
  return new Backups({
    folder: folder.path,
    copy: () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      return { ended: promise, cancel: () => resolve("cancelled") };
    },
    storeBytes: async () => storeBytes,
  });
}

async function startIn(folder: TemporaryFolder): Promise<Backups> {
  const [backups, before] = [backupsIn(folder), readdirSync(folder.path)];
  backups.start();
  await eventually("the copy", () => readdirSync(folder.path).some((name) => !before.includes(name)));
  return backups;
}

test("one copy is made at a time, and it is removed when the server stops", async () => {
  using folder = new TemporaryFolder();
  const backups = await startIn(folder);
  expect(() => backups.start()).toThrow("A backup is being made");
  await backups.close();
  expect(readdirSync(folder.path)).toEqual([]);
  // Also before the copy has begun.
  backups.start();
  await backups.close();
  expect([readdirSync(folder.path), await backups.status()]).toEqual([[], null]);
});

test("the copy that a killed server has left is removed by the next one, and that of a running server is not", async () => {
  using folder = new TemporaryFolder();
  const left = folder.file("plantstore-0123456789abcdef.partial");
  mkdirSync(`${left}/plantstore-fedcba9876543210.partial`, { recursive: true, mode: 0o700 });
  for (const name of ["lock", "copy", "plantstore-fedcba9876543210.partial/copy"])
    writeFileSync(`${left}/${name}`, "");
  const one = await startIn(folder);
  expect(existsSync(left)).toBe(false);
  const other = await startIn(folder);
  expect(readdirSync(folder.path)).toHaveLength(2);
  await one.close();
  await other.close();
  expect(readdirSync(folder.path)).toEqual([]);
});

test("without room for the store no copy is begun", async () => {
  using folder = new TemporaryFolder();
  const backups = backupsIn(folder, 1e18);
  backups.start();
  const status = await eventually(
    "the failure",
    () => backups.status(),
    (last) => last?.state === "failed",
  );
  expect(status?.message).toContain("1,000,000,000,000,000,000 bytes");
  expect(readdirSync(folder.path)).toEqual([]);
});
