// npm run test:postgres [-- FILE]: the tests of the PostgreSQL engine that depend on its version,
// on the major versions before the one that npm test has. Installs what
// postgres-versions/package-lock.json pins, once. A version that is neither there nor in Debian's
// folder is skipped with the reason.

import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { postgresProgramsVariable } from "../support/postgres.ts";

const folder = new URL("postgres-versions", import.meta.url).pathname;

const reason = install();
for (const major of ["14", "15", "16", "17"]) {
  const programs = [
    join(folder, `node_modules/postgres-${major}-${process.platform}-${process.arch}/native/bin`),
    `/usr/lib/postgresql/${major}/bin`,
  ].find((path) => existsSync(join(path, "initdb")));
  if (programs === undefined) {
    const missing = reason ?? `no package for ${process.platform}-${process.arch}, or install it from Debian`;
    process.stdout.write(`skipped: PostgreSQL ${major} (${missing})\n`);
  } else if (runVersion(programs) !== 0) process.exitCode = 1;
}

/** Installs the binaries unless they are installed; returns the reason if that fails. */
function install(): string | undefined {
  const differing = spawnSync("npm", ["ls", "--silent"], { cwd: folder });
  if (differing.status === 0 && existsSync(join(folder, "node_modules"))) return undefined;
  const { status, stderr } = spawnSync("npm", ["ci", "--no-audit", "--no-fund"], {
    cwd: folder,
    encoding: "utf8",
  });
  return status === 0 ? undefined : `npm ci failed: ${/npm error .*/.exec(stderr)?.[0] ?? "no reason"}`;
}

/** Runs the tests on one version, and returns the exit code. */
function runVersion(programs: string): number | null {
  spawnSync(join(programs, "postgres"), ["--version"], { stdio: "inherit" });
  // Without the server that other tests share, which has another version.
  const { PLANTSTORE_TEST_POSTGRES: _, ...env } = process.env;
  const runner = new URL("run-tests.ts", import.meta.url).pathname;
  return spawnSync(process.execPath, [runner, "postgres", ...process.argv.slice(2)], {
    stdio: "inherit",
    env: { ...env, [postgresProgramsVariable]: programs },
  }).status;
}
