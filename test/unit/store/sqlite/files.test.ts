// The files of a store: what is measured for metrics never throws, and an fsync reaches the kernel.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { fsyncDirectory, fsyncFile, walBytes } from "../../../../src/store/sqlite/files.ts";
import { TemporaryFolder } from "../../../support/server.ts";

test("the size of the WAL is 0 without one, and undefined where it cannot be measured", () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  expect(walBytes(path)).toBe(0);
  writeFileSync(`${path}-wal`, "four");
  expect(walBytes(path)).toBe(4);
  writeFileSync(path, "");
  // Its folder is a file.
  expect(walBytes(`${path}/plants.db`)).toBeUndefined();
});

test("an fsync is one of the kernel's, which refuses it for what is on no disk", () => {
  expect(() => fsyncFile("/dev/null")).toThrow("EINVAL");
  expect(() => fsyncDirectory("/proc/version")).toThrow("EINVAL");
});
