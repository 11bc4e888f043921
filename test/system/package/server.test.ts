// The package plantstore as a user gets it: packed by npm and installed without install scripts
// into an empty project. The server is started by npx, and plantstore/sandbox under each test
// runner of docs/sandbox-in-tests.md, whose examples are run as they are.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../../package.json";
import { foreignCodeRun } from "../../support/foreign-code.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import {
  checkTypes,
  moduleResolutions,
  npmEnvironment,
  packServer,
  succeed,
} from "../../support/npm-packages.ts";
import { Output } from "../../support/output.ts";
import { killGroup } from "../../support/processes.ts";
import { describeUnless, toolsMissing } from "../../support/programs.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, runIn, runProgram, TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";
import { exampleOf, sandboxExamples } from "../sandbox-helper/examples.ts";

const root = new URL("../../..", import.meta.url).pathname;

/** The test runners by their names on the page, and what each prints when all tests have passed. */
const builtIn = {
  Bun: / 4 pass\n 0 fail/,
  "Node's test runner": /^(?:#|ℹ) pass 4\n/m,
};
const downloaded = {
  Vitest: /Tests +1 passed \(1\)/,
  Jest: /Tests: +3 passed, 3 total/,
  "Playwright Test": /^ +3 passed/m,
};
const runners = [...Object.keys(builtIn), ...Object.keys(downloaded)];
const runnerPackages = ["vitest@4.1.12", "jest@30.5.2", "@playwright/test@1.65.1"] as const;

const folder = new TemporaryFolder();
const project = folder.file("project");
const installed = join(project, "node_modules/plantstore");
const program = join(project, "node_modules/.bin/plantstore");

beforeAll(async () => {
  const tarball = await packServer(folder);
  for (const name of runners) {
    cpSync(exampleOf(name).folder, folderOf(name), { recursive: true });
    writeFileSync(join(folderOf(name), "package.json"), "{}");
  }
  writeFileSync(join(project, "package.json"), "{}");
  await succeed(project, ["npm", "install", "--ignore-scripts", tarball]);
});
afterAll(() => folder[Symbol.dispose]());

test("it runs no code of the folder where it runs", async () => {
  const run = async (folder: string) =>
    expect((await runIn(folder, [program, "--version"])).stdout).toStartWith(packageJson.version);
  expect(await foreignCodeRun(run)).toEqual([]);
});

test("the package has what it needs, and neither the client nor tests", () => {
  const documents = ["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "openapi.yaml", "package.json"];
  expect(readdirSync(installed).toSorted()).toEqual(
    [...documents, "bin", "dist", "node_modules", "packages", "src"].toSorted(),
  );
  expect(readdirSync(join(installed, "packages/sandbox"))).toEqual(["dist"]);
  const { bundleDependencies, dependencies } = packageJson;
  expect(["bun", ...bundleDependencies].toSorted()).toEqual(Object.keys(dependencies).toSorted());
});

test("npx starts it; a plant is created and read back; Ctrl+C ends it", async () => {
  const child = Bun.spawn(["npx", "plantstore", "serve", "--port", "0", "--admin-port", "off"], {
    cwd: project,
    env: environment(),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    // The leader of a process group, to which a terminal sends its signals.
    detached: true,
  });
  try {
    const output = new Output(child.stdout);
    const errors = new Output(child.stderr);
    const printed = output.until(
      (text) => /^(http\S+)[\s\S]*(pst_\S{43})[\s\S]*\nor in a browser/.exec(text) ?? undefined,
    );
    const [, url = "", token = ""] = await printed.catch(async () => {
      throw new Error(await errors.ended);
    });
    const id = freshId();
    expect((await post({ url, token }, plantJson(id, "Monstera"))).status).toBe(200);
    const { stdout } = await runIn(project, [program, "get", String(id)]);
    expect(JSON.parse(stdout)).toMatchObject({ name: "Monstera" });
    process.kill(-child.pid, "SIGINT");
    await output.ended;
    // A store that was closed has no write-ahead log.
    expect(readdirSync(project).filter((name) => name.startsWith("plantstore.db"))).toEqual([
      "plantstore.db",
    ]);
  } finally {
    await killGroup(child);
  }
});

test("it takes less than 135 MB with Bun, and is enough to run the server and a sandbox", async () => {
  const [bytes] = (await succeed(project, ["du", "--summarize", "--bytes", "node_modules"])).split("\t");
  expect(Number(bytes)).toBeLessThan(135e6);

  const { stdout } = await runIn(folder.path, [program, "--version"]);
  expect(stdout).toBe(`${packageJson.version} (Bun ${Bun.version}, SQLite ${process.versions.sqlite})\n`);
  const exported: string[] = [];
  await using collector = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      exported.push(await request.text());
      return Response.json({});
    },
  });
  await using server = await RunningServer.start({
    program,
    database: `sqlite:${folder.file("plants.db")}`,
    // Traces are exported although no package for that is installed.
    args: ["--otlp-endpoint", collector.url.origin],
  });
  const target = await server.target();
  expect((await post(target, plantJson(freshId(), "Monstera"))).status).toBe(200);
  for (const path of ["", "app.js", "style.css"])
    expect((await fetch(`${await server.adminUrl()}/console/${path}`)).status).toBe(200);
  expect((await server.stop()).exitCode).toBe(0);
  expect(exported.join()).toContain("POST /plants");

  await using sandbox = await RunningSandbox.start({ program });
  expect((await post(sandbox, plantJson(freshId(), "Monstera"))).status).toBe(200);
  expect((await sandbox.control("GET", "/openapi.json")).json).toMatchObject({ openapi: "3.1.0" });
});

test("stack traces of what was built name the lines of the sources", async () => {
  writeFileSync(join(project, "fault.js"), "Bun.serve = () => { throw new Error('fault'); };");
  const built = join(installed, "dist/server/main.js");
  const serve = ["serve", "--port", "0", "--database", `sqlite:${folder.file("fault.db")}`];
  const { exitCode, stderr } = await runIn(project, [
    process.execPath,
    "--preload",
    "./fault.js",
    built,
    ...serve,
  ]);
  expect(exitCode).toBe(1);
  const [, path = "", line = 0] = /at hold \((\S+):(\d+):\d+\)/.exec(stderr) ?? [];
  expect(path).toEndWith("/src/process/start-server.ts");
  expect(readFileSync(path, "utf8").split("\n")[Number(line) - 1]).toContain("Bun.serve");
});

test("the page has an example for each test runner", () => {
  const names = sandboxExamples.map(({ name }) => name);
  expect(names.slice(0, runners.length)).toEqual(runners);
});

test.each(Object.entries(builtIn))(
  "%s runs the documented example with the documented command",
  async (name, passed) => {
    expect(await runExample(name)).toMatch(passed);
  },
);

test.each(moduleResolutions.slice(1))(
  "%s with module resolution %s and module %s accepts the types in a .%s, without those of Node",
  async (compiler, moduleResolution, module, extension) => {
    const file = `types-${moduleResolution}.${extension}`;
    const lib = ["es2022"];
    const options = { skipLibCheck: false, module, moduleResolution, target: "es2022", lib, types: [] };
    const check = async (seedId: string) => {
      writeFileSync(
        join(project, file),
        `import { startSandbox, type Sandbox } from "plantstore/sandbox";
         export async function main(): Promise<bigint | undefined> {
           const sandbox: Sandbox = await startSandbox({ seed: [{ id: ${seedId}, name: "Monstera" }] });
           const rule = await sandbox.force({ match: { id: 1n }, outcome: { error: 50300 } });
           await rule[Symbol.asyncDispose]();
           return (await sandbox.resources())[0]?.id;
         }
         export async function ofMembers(): Promise<string | undefined> {
           const flags = ["--contract", "members.yaml"];
           const seed = [{ id: "a", name: "Ada", level: 1 }];
           const members = await startSandbox<{ id: string; name: string; level?: number }>({ flags, seed });
           await members.force({ match: { body: { level: 2 }, method: "POST" }, outcome: { error: 50300 } });
           return (await members.resources())[0]?.id;
         }
         export async function ofAny(): Promise<unknown> {
           const sandbox = await startSandbox<Record<string, unknown>>({ seed: [{ code: "a" }] });
           await sandbox.force({ match: { body: { price: 2 } }, outcome: { error: 50300 } });
           return (await sandbox.add({ code: "b" })).code;
         }`,
      );
      await checkTypes(project, [file], options, compiler);
    };
    await check("9007199254740993n");
    // And they are types, not any.
    expect(await settled(check('"1"'))).toThrow("Type 'string' is not assignable to type 'number | bigint'");
  },
);

describeUnless(toolsMissing, "with test runners that are downloaded", () => {
  beforeAll(
    async () => void (await succeed(project, ["npm", "install", "--ignore-scripts", ...runnerPackages])),
    120_000,
  );

  test.each(Object.entries(downloaded))(
    "%s runs the documented example with the documented command",
    async (name, passed) => {
      expect(await runExample(name)).toMatch(passed);
    },
  );
});

/** The folder of a test runner's example. */
function folderOf(runner: string): string {
  return join(project, runner.replaceAll(/\W/g, ""));
}

/**
 * Runs an example with the documented command, and returns what was printed. Throws if it fails.
 */
async function runExample(runner: string): Promise<string> {
  const { command = "" } = exampleOf(runner);
  const options = { cwd: folderOf(runner), env: environment() };
  const { exitCode, stdout, stderr } = await runProgram(["sh", "-ec", command], options);
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
