// npm run test:postgres: the tests of the PostgreSQL engine that depend on its version, on the
// major versions before the one that npm test has. Installs what postgres-versions/package-lock.json
// pins, once. A version that is neither there nor in Debian's folder is skipped with the reason.

import { spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { postgresProgramsVariable } from "../support/postgres.ts";

const folder = new URL("postgres-versions", import.meta.url).pathname;
const majors = ["14", "15", "16", "17"];

/** The number of versions whose tests run at the same time: much of their time is waits. */
const atOnce = 2;

process.exitCode = await runVersions();

async function runVersions(): Promise<number> {
  const reason = install();
  const left = majors.values();
  let exitCode = 0;
  const runNext = async () => {
    for (const major of left) {
      const programs = [
        join(folder, `node_modules/postgres-${major}-${process.platform}-${process.arch}/native/bin`),
        `/usr/lib/postgresql/${major}/bin`,
      ].find((path) => existsSync(join(path, "initdb")));
      if (programs === undefined) {
        const missing =
          reason ?? `no package for ${process.platform}-${process.arch}, or install it from Debian`;
        process.stdout.write(`skipped: PostgreSQL ${major} (${missing})\n`);
      } else if ((await runVersion(programs)) !== 0) exitCode = 1;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return exitCode;
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

/** Runs the tests on one version, and prints their output when they have ended. */
async function runVersion(programs: string): Promise<number | null> {
  const { stdout: version } = spawnSync(join(programs, "postgres"), ["--version"], { encoding: "utf8" });
  // Without the server that other tests share, which has another version.
  const { PLANTSTORE_TEST_POSTGRES: _, ...env } = process.env;
  const runner = new URL("run-tests.ts", import.meta.url).pathname;
  const child = spawn(process.execPath, [runner, "postgres"], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...env, [postgresProgramsVariable]: programs },
  });
  const { promise, resolve } = Promise.withResolvers<number | null>();
  child.once("close", resolve);
  const [stdout, stderr, exitCode] = await Promise.all([text(child.stdout), text(child.stderr), promise]);
  process.stdout.write(`\n${version.trim()}\n${stderr}${stdout}`);
  return exitCode;
}
