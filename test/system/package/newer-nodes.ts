// Newer releases of Node than the oldest that is supported, from npm.

import { npmEnvironment } from "../../support/npm-packages.ts";
import { toolsMissing } from "../../support/programs.ts";

interface NewerNode {
  readonly name: string;
  readonly path: string;
  /** Why it cannot be run; undefined if it can. */
  readonly missing: string | undefined;
}

/** The newest release of each line that npm had. */
export const newerNodes: readonly NewerNode[] = await Promise.all(
  ["24.9.0", "26.9.0"].map(async (version) => {
    const name = `node-${process.platform.replace("win32", "win")}-${process.arch}@${version}`;
    if (toolsMissing !== undefined) return { name, path: "", missing: toolsMissing };
    // npx keeps what it has installed.
    const npx = ["npx", "--yes", `--package=${name}`, "--", "sh", "-c", "command -v node"];
    const child = Bun.spawn(npx, {
      env: { ...process.env, ...npmEnvironment },
      stdout: "pipe",
      stderr: "ignore",
    });
    const [path] = await Promise.all([child.stdout.text(), child.exited]);
    const missing = child.exitCode === 0 ? undefined : "npm could not download it";
    return { name, path: path.trim(), missing };
  }),
);
