// The examples of docs/sandbox-in-tests.md for other languages: pytest, go test and JUnit. Skipped
// where a toolchain is missing or its registry cannot be reached. Those in JavaScript are in
// test/system/package.

import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { dirname } from "node:path";
import { sessionEnd } from "../../support/processes.ts";
import { describeUnless, pathOf, toolsMissing } from "../../support/programs.ts";
import { type CommandResult, collectResult, plantstore, TemporaryFolder } from "../../support/server.ts";
import { exampleOf, sandboxExamples } from "./examples.ts";

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** Temporary files of the examples. */
const temporary = folder.file("tmp");
mkdirSync(temporary);

/** Runs a command with `plantstore` on PATH, in a session of its own. */
async function run(command: readonly string[], directory = folder.path): Promise<CommandResult> {
  const child = Bun.spawn([...command], {
    cwd: directory,
    env: {
      ...process.env,
      PATH: `${folder.file("python/bin")}:${dirname(plantstore)}:${process.env.PATH}`,
      TMPDIR: temporary,
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    detached: true,
  });
  const result = await collectResult(child);
  await sessionEnd(child.pid);
  return result;
}

async function runOrThrow(command: readonly string[], directory?: string): Promise<string> {
  const { exitCode, stdout, stderr } = await run(command, directory);
  if (exitCode !== 0) throw new Error(`${command.join(" ")} failed:\n${stdout}${stderr}`);
  return stdout + stderr;
}

async function fails(command: readonly string[]): Promise<boolean> {
  return (await run(command)).exitCode !== 0;
}

/** Why pytest cannot be run here; undefined if it can. */
async function withoutPytest(): Promise<string | undefined> {
  if (pathOf("python3") === null) return "install python3";
  if (!(await fails(["python3", "-m", "pytest", "--version"]))) return undefined;
  if (await fails(["python3", "-m", "venv", folder.file("python")])) return "install python3-venv";
  if (await fails(["python3", "-m", "pip", "install", "--quiet", "pytest"]))
    return "pip cannot download pytest";
  return undefined;
}

const junit = "junit-platform-console-standalone-1.14.4";

/** Why JUnit cannot be run here; undefined if it can. */
async function withoutJunit(): Promise<string | undefined> {
  for (const [program, debianPackage] of [
    ["javac", "default-jdk-headless"],
    ["mvn", "maven"],
  ] as const)
    if (pathOf(program) === null) return `install ${debianPackage}`;
  const copy = [
    ...["mvn", "--quiet", "--batch-mode", "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"],
    `-Dartifact=org.junit.platform:${junit.replace(/-(?=\d)/, ":")}`,
    `-DoutputDirectory=${folder.path}`,
  ];
  return (await fails(copy)) ? "mvn cannot download JUnit" : undefined;
}

interface Language {
  readonly missing: string | undefined;
  /** The command, where the page has none. */
  readonly command?: string;
  /** Matches the output when three tests have passed. */
  readonly passed: RegExp;
}

const [missingPytest, missingJunit] =
  toolsMissing === undefined
    ? await Promise.all([withoutPytest(), withoutJunit()])
    : [toolsMissing, toolsMissing];
const languages: Readonly<Record<string, Language>> = {
  pytest: {
    missing: missingPytest,
    passed: /^=+ 3 passed in /m,
  },
  "go test": {
    missing: toolsMissing ?? (pathOf("go") === null ? "install golang-go" : undefined),
    passed: /^ok\s+example\.com\/plants/m,
  },
  "JUnit 5": {
    missing: missingJunit,
    command: `javac -cp ../${junit}.jar *.java && java -jar ../${junit}.jar execute --class-path . --scan-class-path`,
    passed: /3 tests successful/,
  },
};

test("the page has an example for each language", () => {
  const names = sandboxExamples.map(({ name }) => name);
  expect(names.slice(-Object.keys(languages).length)).toEqual(Object.keys(languages));
});

for (const [language, { missing, command, passed }] of Object.entries(languages))
  describeUnless(missing, language, () => {
    test("runs the example, which leaves nothing", async () => {
      const directory = folder.file(language.replace(" ", "-"));
      const documented = exampleOf(language);
      cpSync(documented.folder, directory, { recursive: true });
      const shell = ["sh", "-ec", command ?? documented.command ?? ""];
      expect(await runOrThrow(shell, directory)).toMatch(passed);
      // Apart from caches of the toolchains.
      expect(readdirSync(temporary).filter((name) => name.includes("sandbox"))).toEqual([]);
    });
  });
