// npm run mutants [-- --all] [FILE...]: breaks one place of src or of the kit at a time in a copy of
// the tree, by the tables in this folder, and prints which test saw it. FILE is a part of the names of
// the files to break. With --all each runs against the whole of npm test, also those that no test is
// known to see. The exit code is 1 if one was not seen that should be.

import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import {
  ClusterTemplate,
  clusterTemplateVariable,
  PostgresServer,
  postgresProgramsVariable,
} from "../../support/postgres.ts";
import { copyRepository } from "../../support/repository-copy.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { readMutants } from "./mutants.ts";

const root = new URL("../../..", import.meta.url).pathname;
const args = process.argv.slice(2);
const runsAll = args.includes("--all");
const wanted = args.filter((arg) => !arg.startsWith("-"));

const mutants = readMutants()
  .filter(({ file }) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .filter(({ unseenBecause }) => runsAll || unseenBecause === undefined);

using folder = new TemporaryFolder();
const copy = folder.file("copy");
await copyRepository(copy);
symlinkSync(`${root}node_modules`, `${copy}/node_modules`);
// One server for all runs, and what theirs are copies of.
using template = new ClusterTemplate();
await using postgres = await PostgresServer.start({ max_connections: "400" }, template);
const environment = {
  ...process.env,
  PLANTSTORE_TEST_POSTGRES: postgres.url,
  [clusterTemplateVariable]: template.path,
  [postgresProgramsVariable]: dirname(template.programs.postgres),
};

/** A mutant that makes a test wait for ever is seen by its time-out, or that of the run if it spins. */
const options = ["--bail", "--timeout=60000"];
const runMsMax = 600_000;

/** Runs tests on the copy; returns what the first failed one is, undefined if none failed. */
async function firstFailure(paths: readonly string[]): Promise<string | undefined> {
  const only = runsAll ? [] : paths.map((path) => `./test/${path}`);
  // Unit tests need nothing of what the runner starts, which takes longer than most of them.
  const needsRunner = runsAll || !paths.every((path) => path.startsWith("unit/"));
  const run = needsRunner ? ["test/runner/run-tests.ts", "test"] : ["test"];
  const child = Bun.spawn([process.execPath, ...run, ...options, ...only], {
    cwd: copy,
    env: environment,
    stdout: "pipe",
    stderr: "pipe",
    // A signal that the runner passes on to the tests.
    timeout: runMsMax,
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const exitCode = await child.exited;
  const [, failed] = /^\(fail\) (.*?)(?: \[[\d.]+m?s\])?$/m.exec(stderr + stdout) ?? [];
  const last = `it ended with ${exitCode ?? child.signalCode}: ${stderr.trim().split("\n").at(-1)}`;
  return exitCode === 0 ? undefined : (failed ?? last);
}

/** What fails without a mutant, by the tests that were run. */
const failures = new Map<string, string | undefined>();

let seen = 0;
for (const { file, text, replacement, breaks, tests, unseenBecause } of mutants) {
  const path = `${copy}/${file}`;
  const source = readFileSync(path, "utf8");
  const [before, after, ...others] = source.split(text);
  if (before === undefined || after === undefined || others.length > 0)
    throw new Error(`${file} does not have this text once: ${text}`);
  const key = tests.join(" ");
  if (!failures.has(key)) failures.set(key, await firstFailure(tests));
  const broken = failures.get(key);
  let outcome = `FAILS WITHOUT IT: ${broken}`;
  if (broken === undefined) {
    writeFileSync(path, before + replacement + after);
    const seenBy = await firstFailure(tests);
    writeFileSync(path, source);
    if (seenBy !== undefined || unseenBecause !== undefined) seen++;
    outcome = seenBy === undefined ? "NOT SEEN" : `seen by ${seenBy}`;
  }
  process.stdout.write(`${file}: ${breaks}: ${outcome}\n`);
}
process.stdout.write(`${seen} of ${mutants.length} mutants seen\n`);
process.exitCode = seen === mutants.length ? 0 : 1;
