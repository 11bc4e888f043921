// Files that cannot be written, also by root.

import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { pathOf, programPath } from "../../support/programs.ts";
import { TemporaryFolder } from "../../support/server.ts";

/**
 * Makes a file read-only until it is disposed of. Permissions do not stop root; the immutable
 * attribute does, which not every file system has: undefined where it cannot be set.
 */
export function makeReadOnly(path: string): Disposable | undefined {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot) chmodSync(path, 0o444);
  else if (pathOf("chattr") === null || spawnSync(programPath("chattr"), ["+i", path]).status !== 0)
    return undefined;
  return {
    [Symbol.dispose]() {
      if (isRoot) spawnSync(programPath("chattr"), ["-i", path]);
      else chmodSync(path, 0o600);
    },
  };
}

/** Why no file can be made read-only here; undefined where one can. */
export function whyNotReadOnly(): string | undefined {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("probe"), "");
  using readOnly = makeReadOnly(folder.file("probe"));
  return readOnly === undefined ? "root, and a file system without chattr" : undefined;
}
