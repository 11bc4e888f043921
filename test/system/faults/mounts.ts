// Small file systems that a test can fill or make read-only.

import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { pathOf, programPath } from "../../support/programs.ts";
import { TemporaryFolder } from "../../support/server.ts";

interface Mounted extends Disposable {
  makeReadOnly(): void;
}

/** A file system of 2 MB; undefined where none may be mounted. */
export function mounted(folder: string): Mounted | undefined {
  mkdirSync(folder);
  if (pathOf("mount") === null) return undefined;
  const mount = spawnSync(programPath("mount"), ["-t", "tmpfs", "-o", "size=2m", "tmpfs", folder]);
  if (mount.status !== 0) return undefined;
  return {
    makeReadOnly() {
      const remount = spawnSync(programPath("mount"), ["-o", "remount,ro", folder]);
      if (remount.status !== 0) throw new Error(remount.stderr.toString());
    },
    [Symbol.dispose]() {
      spawnSync(programPath("umount"), [folder]);
    },
  };
}

/** Why no file system can be mounted here; undefined if one can. */
export const notMounted = (() => {
  using folder = new TemporaryFolder();
  using disk = mounted(folder.file("disk"));
  return disk === undefined ? "only root may mount a file system" : undefined;
})();
