// The console's backup with a copy that the test ends.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { Backups } from "../../../src/console/backups.ts";
import { TemporaryFolder } from "../../support/server.ts";

function backupsIn(folder: TemporaryFolder, freeBytes: number): Backups {
  return new Backups({
    folder: folder.path,
    copy: () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      return { ended: promise, cancel: () => resolve("cancelled") };
    },
    storeBytes: async () => 1_000,
    freeBytes: async () => freeBytes,
    wallNow: () => 0,
  });
}

test("of parallel starts one makes a copy, and it is removed when the server stops", async () => {
  using folder = new TemporaryFolder();
  const backups = backupsIn(folder, 1_000);
  const responses = await Promise.all(Array.from({ length: 5 }, () => backups.start()));
  expect(responses.map(({ status }) => status).toSorted()).toEqual([200, 409, 409, 409, 409]);
  expect(readdirSync(folder.path).length).toBe(1);
  await backups.close();
  expect(readdirSync(folder.path)).toEqual([]);
});

test("the copy that a killed server has left is removed by the next one, and that of a running server is not", async () => {
  using folder = new TemporaryFolder();
  const left = folder.file("plantstore-0123456789abcdef.partial");
  mkdirSync(`${left}/plantstore-fedcba9876543210.partial`, { recursive: true, mode: 0o700 });
  for (const name of ["lock", "copy", "plantstore-fedcba9876543210.partial/copy"])
    writeFileSync(`${left}/${name}`, "");
  const [one, other] = [backupsIn(folder, 1_000), backupsIn(folder, 1_000)];
  await one.start();
  expect(existsSync(left)).toBe(false);
  await other.start();
  expect(readdirSync(folder.path)).toHaveLength(2);
  await one.close();
  await other.close();
  expect(readdirSync(folder.path)).toEqual([]);
});

test("without room for the store no copy is begun", async () => {
  using folder = new TemporaryFolder();
  const response = await backupsIn(folder, 999).start();
  expect(response.status).toBe(507);
  expect(await response.text()).toContain("1,000 bytes");
  expect(readdirSync(folder.path)).toEqual([]);
});
