// The console's backup with a copy that the test ends.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { Backups } from "../../../src/console/backups.ts";
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

test("of parallel starts one makes a copy, and it is removed when the server stops", async () => {
  using folder = new TemporaryFolder();
  const backups = backupsIn(folder);
  const starts = Array.from({ length: 5 }, () =>
    backups.start().then(
      () => 200,
      ({ status }) => status,
    ),
  );
  expect((await Promise.all(starts)).toSorted()).toEqual([200, 409, 409, 409, 409]);
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
  const [one, other] = [backupsIn(folder), backupsIn(folder)];
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
  const starting = backupsIn(folder, 1e18).start();
  await expect(starting).rejects.toMatchObject({
    status: 507,
    message: expect.stringContaining("1,000,000,000,000,000,000 bytes"),
  });
  expect(readdirSync(folder.path)).toEqual([]);
});
