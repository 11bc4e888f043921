// npm run mutants [-- --all] [FILE...]: breaks one place of src at a time in a copy of the
// tree, by the rows of mutants.md, and prints which test saw it. The exit code is 1 if one was not
// seen.

import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { rowsOf } from "../../support/markdown.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { copyRepository } from "../../support/repository-copy.ts";
import { TemporaryFolder } from "../../support/server.ts";

const root = new URL("../../..", import.meta.url).pathname;
const args = process.argv.slice(2);
const runsAll = args.includes("--all");
const wanted = args.filter((arg) => !arg.startsWith("-"));

/** The text of a cell without the marks of code. */
const textOf = (cell = "") => cell.replace(/^`|`$/g, "");
const mutants = rowsOf(readFileSync(new URL("mutants.md", import.meta.url), "utf8"), /^\| `/)
  .map((cells) => cells.map(textOf))
  .filter(([file = ""]) => wanted.length === 0 || wanted.some((part) => file.includes(part)));

using folder = new TemporaryFolder();
const copy = folder.file("copy");
await copyRepository(copy);
symlinkSync(`${root}node_modules`, `${copy}/node_modules`);
// One server for all runs.
await using postgres = await PostgresServer.start({ max_connections: "400" });

/** A mutant that makes a test wait for ever is seen by its time-out. */
const options = ["--bail", "--timeout=60000"];

/** Runs tests on the copy; returns what the first failed one is, undefined if none failed. */
async function firstFailure(paths: readonly string[]): Promise<string | undefined> {
  const only = runsAll ? [] : paths.map((path) => `./test/${path}`);
  const child = Bun.spawn([process.execPath, "test/runner/run-tests.ts", "test", ...options, ...only], {
    cwd: copy,
    env: { ...process.env, PLANTSTORE_TEST_POSTGRES: postgres.url },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  const exitCode = await child.exited;
  const [, failed] = /^\(fail\) (.*?)(?: \[[\d.]+m?s\])?$/m.exec(stderr + stdout) ?? [];
  const last = `it ended with ${exitCode ?? child.signalCode}: ${stderr.trim().split("\n").at(-1)}`;
  return exitCode === 0 ? undefined : (failed ?? last);
}

const paths = new Set(mutants.map(([, , , , tests = ""]) => tests));
const broken = await firstFailure([...paths]);
if (broken !== undefined) throw new Error(`the tests fail without a mutant: ${broken}`);

let unseen = 0;
for (const [file = "", text = "", replacement = "", breaks, tests = ""] of mutants) {
  const path = `${copy}/src/${file}`;
  const source = readFileSync(path, "utf8");
  const count = source.split(text).length - 1;
  if (count === 1)
    writeFileSync(
      path,
      source.replace(text, () => replacement),
    );
  const seen = count === 1 ? await firstFailure([tests]) : undefined;
  writeFileSync(path, source);
  if (seen === undefined) unseen++;
  const outcome =
    count === 1
      ? seen === undefined
        ? "NOT SEEN"
        : `seen by ${seen}`
      : `NOT TRIED: its text is there ${count} times`;
  process.stdout.write(`${file}: ${breaks}: ${outcome}\n`);
}
process.stdout.write(`${mutants.length - unseen} of ${mutants.length} mutants seen\n`);
process.exitCode = unseen === 0 ? 0 : 1;
