// plantstore/sandbox as a user gets it: packed by npm, installed into an empty project, under each
// test runner of docs/sandbox-in-tests.md, whose examples are run as they are and checked by tsc.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { npmEnvironment, packServer, succeed } from "../../support/npm-packages.ts";
import { Output } from "../../support/output.ts";
import { sessionEnd, sessionOf } from "../../support/processes.ts";
import { describeUnless, programPath, toolsMissing } from "../../support/programs.ts";
import { collectResult, TemporaryFolder } from "../../support/server.ts";
import { exampleOf, sandboxExamples, sandboxPage } from "../sandbox-helper/examples.ts";
import { newerNodes } from "./newer-nodes.ts";

const root = new URL("../../..", import.meta.url).pathname;

/** The test runners by their names on the page, and what each prints when all tests have passed. */
const runners = {
  Bun: / 4 pass\n 0 fail/,
  "Node's test runner": /^(?:#|ℹ) pass 4\n/m,
  Vitest: /Tests +3 passed \(3\)/,
  Jest: /Tests: +4 passed, 4 total/,
  "Playwright Test": /^ +3 passed/m,
} as const;
/** The test runners that come with this project and Node; the others are downloaded. */
const builtIn = ["Bun", "Node's test runner"];
const downloaded = ["vitest@4.1.12", "jest@30.5.2", "@playwright/test@1.65.1"];
const packages = ["@types/bun@1.4.4", ...(toolsMissing === undefined ? downloaded : [])];

/** A test that needs the downloaded test runners. */
const testWithAll = toolsMissing === undefined ? test : test.skip;
const skipped = toolsMissing === undefined ? "" : ` (skipped: ${toolsMissing})`;

const folder = new TemporaryFolder();
const project = folder.file("project");
afterAll(() => folder[Symbol.dispose]());

mkdirSync(project);
writeFileSync(join(project, "package.json"), "{}");
const install = ["npm", "install", "--ignore-scripts"];
/** Why npm could not install the test runners; undefined if it could. */
const missing = await succeed(project, [...install, ...packages, await packServer(folder)]).then(
  () => undefined,
  (error) => error,
);
// With packages that can be downloaded, it is an error of this package.
if (
  missing !== undefined &&
  (await succeed(project, [...install, ...packages]).then(
    () => true,
    () => false,
  ))
)
  throw missing;

const reason = missing === undefined ? undefined : "npm could not download the test runners";
describeUnless(reason, "plantstore/sandbox", () => {
  beforeAll(() => {
    for (const name of Object.keys(runners)) {
      exampleOf(name).copyTo(folderOf(name));
      writeFileSync(join(folderOf(name), "package.json"), "{}");
    }
  });

  test("the page has an example for each test runner", () => {
    const names = sandboxExamples.map(({ name }) => name);
    expect(names.slice(0, Object.keys(runners).length)).toEqual(Object.keys(runners));
    expect(sandboxPage).toContain(exampleOf("Vitest").read("plants.test.ts"));
  });

  for (const [name, passed] of Object.entries(runners)) {
    const isBuiltIn = builtIn.includes(name);
    (isBuiltIn ? test : testWithAll)(
      `${name} runs the documented example with the documented command${isBuiltIn ? "" : skipped}`,
      async () => {
        expect(await runExample(name)).toMatch(passed);
      },
      60_000,
    );
  }

  for (const { name, path, missing } of newerNodes) {
    const runs = missing === undefined ? test : test.skip;
    const reason = missing === undefined ? "" : ` (skipped: ${missing})`;
    runs(`the example for Node's test runner passes on ${name}${reason}`, async () => {
      const runner = "Node's test runner";
      expect(await runExample(runner, dirname(path))).toMatch(runners[runner]);
    });
  }

  testWithAll.each(["typescript", "typescript-5"])(
    `the examples compile with %s, strictly${skipped}`,
    async (compiler) => {
      const compilerOptions = {
        strict: true,
        exactOptionalPropertyTypes: true,
        noEmit: true,
        module: "preserve",
        target: "es2022",
        lib: ["es2022", "dom"],
        types: ["bun"],
        // The declarations of the test runners need further libraries.
        skipLibCheck: true,
      };
      const files = Object.keys(runners).flatMap((runner) =>
        exampleOf(runner).files.map((name) => join(folderOf(runner), name)),
      );
      const typeScript = files.filter((file) => file.endsWith(".ts"));
      expect(typeScript).toHaveLength(3);
      const tsconfig = join(project, `${compiler}.json`);
      writeFileSync(tsconfig, JSON.stringify({ compilerOptions, files: typeScript }));
      const tsc = ["node", join(root, "node_modules", compiler, "bin/tsc"), "-p", tsconfig];
      expect(await succeed(project, tsc)).toBe("");
    },
    60_000,
  );

  test.each([
    ["typescript", "nodenext", "nodenext", "mts"],
    ["typescript", "nodenext", "nodenext", "cts"],
    ["typescript-5", "node10", "commonjs", "ts"],
  ])(
    "%s with module resolution %s and module %s accepts the types in a .%s, without those of Node",
    async (compiler, moduleResolution, module, extension) => {
      const name = `types-${compiler}-${moduleResolution}`;
      const check = async (seedId: string) => {
        writeFileSync(
          join(project, `${name}.${extension}`),
          `import { SandboxError, startSandbox, type Sandbox } from "plantstore/sandbox";
           export async function main(): Promise<bigint | undefined> {
             const sandbox: Sandbox = await startSandbox({ seed: [{ id: ${seedId}, name: "Monstera" }] });
             const rule = await sandbox.force({ match: { id: 1n }, outcome: { error: 50300 } });
             await rule[Symbol.asyncDispose]();
             const [plant] = await sandbox.plants().catch((error: unknown) => {
               throw error instanceof SandboxError ? error.message : error;
             });
             return plant?.id;
           }`,
        );
        const compilerOptions = {
          strict: true,
          exactOptionalPropertyTypes: true,
          skipLibCheck: false,
          noEmit: true,
          module,
          moduleResolution,
          target: "es2022",
          lib: ["es2022"],
          types: [],
        };
        writeFileSync(
          join(project, `${name}.json`),
          JSON.stringify({ compilerOptions, files: [`${name}.${extension}`] }),
        );
        return succeed(project, [
          ...["node", join(root, "node_modules", compiler, "bin/tsc")],
          ...["-p", join(project, `${name}.json`)],
        ]);
      };
      expect(await check("9007199254740993n")).toBe("");
      // And they are types, not any.
      await expect(check('"1"')).rejects.toThrow("Type 'string' is not assignable to type 'AnyId'");
    },
    60_000,
  );

  test("after kill -9 of a program that runs the command by npx nothing is left", async () => {
    const temporary = folder.file("tmp");
    mkdirSync(temporary);
    const readyFile = join(temporary, "ready.json");
    writeFileSync(
      join(project, "npx.mjs"),
      `import { spawn } from "node:child_process";
       import { existsSync } from "node:fs";
       const readyFile = ${JSON.stringify(readyFile)};
       const flags = ["--port", "0", "--admin-port", "0", "--ready-file", readyFile, "--exit-with-parent"];
       spawn("npx", ["plantstore", "sandbox", ...flags], { stdio: ["pipe", "ignore", "ignore"] });
       while (!existsSync(readyFile)) await new Promise((resolve) => setTimeout(resolve, 5));
       console.log("ready");
       setTimeout(() => process.exit(), 60_000);`,
    );
    const child = Bun.spawn([programPath("node"), "npx.mjs"], {
      cwd: project,
      env: { ...environment(), TMPDIR: temporary },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
      detached: true,
    });
    await new Output(child.stdout).until((text) => (text === "ready\n" ? text : undefined));
    expect(sessionOf(child.pid).length).toBeGreaterThan(1);
    child.kill("SIGKILL");
    await sessionEnd(child.pid);
    expect(readdirSync(temporary)).toEqual([]);
  }, 60_000);
});

/** The folder of a test runner's example. */
function folderOf(runner: string): string {
  return join(project, runner.replaceAll(/\W/g, ""));
}

/**
 * Runs an example with the documented command, and returns what was printed. Throws if it fails.
 */
async function runExample(runner: string, ...path: readonly string[]): Promise<string> {
  const { command = "" } = exampleOf(runner);
  const { PATH, ...env } = environment();
  const { exitCode, stdout, stderr } = await collectResult(
    Bun.spawn(["sh", "-ec", command], {
      cwd: folderOf(runner),
      env: { ...env, PATH: [...path, PATH].join(":") },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    }),
  );
  const output = Bun.stripANSI(stdout + stderr);
  if (exitCode !== 0) throw new Error(output);
  // Nothing of the sandbox is printed.
  expect(output).not.toMatch(/"level"|nothing is kept/);
  return output;
}

/** Without the color of a terminal, and with Bun on PATH. */
function environment(): Record<string, string> {
  return {
    ...npmEnvironment,
    HOME: process.env.HOME ?? "",
    PATH: `${join(root, "node_modules/.bin")}:${process.env.PATH}`,
    NO_COLOR: "1",
  };
}
