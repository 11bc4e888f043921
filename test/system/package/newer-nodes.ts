// Newer releases of Node than the oldest that is supported.

import { npmEnvironment } from "../../support/npm-packages.ts";

/** Newer releases of Node, from npm: the newest of each line that it had. Undefined where it could not be downloaded. */
export const newerNodes = await Promise.all(
  ["24.9.0", "26.9.0"].map(async (version) => {
    const name = `node-${process.platform.replace("win32", "win")}-${process.arch}@${version}`;
    // npx keeps what it has installed.
    const npx = ["npx", "--yes", `--package=${name}`, "--", "sh", "-c", "command -v node"];
    const child = Bun.spawn(npx, {
      env: { ...process.env, ...npmEnvironment },
      stdout: "pipe",
      stderr: "ignore",
    });
    const [path] = await Promise.all([child.stdout.text(), child.exited]);
    return { name, path: child.exitCode === 0 ? path.trim() : undefined };
  }),
);
