// The start and the end of a sandbox: errors of the start, instances side by side, and what is
// left, also after kill -9.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import {
  SandboxEndedError,
  SandboxError,
  type SandboxOptions,
  SandboxStartError,
  startSandbox,
} from "../../../packages/sandbox/src/index.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { Output } from "../../support/output.ts";
import { sessionEnd, sessionOf } from "../../support/processes.ts";
import { programPath } from "../../support/programs.ts";
import { collectResult, plantstore, TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** A program that is not a sandbox. */
function writeProgram(name: string, script: string): string {
  writeFileSync(folder.file(name), `#!/bin/sh\n${script}\n`);
  chmodSync(folder.file(name), 0o755);
  return folder.file(name);
}

async function startError(options: SandboxOptions): Promise<SandboxStartError> {
  const error = await startSandbox(options).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SandboxStartError);
  expect(error).toBeInstanceOf(SandboxError);
  return error as SandboxStartError;
}

test("an option that there is not is an error", async () => {
  expect(await settled(startSandbox({ ports: 1 } as SandboxOptions))).toThrow(
    new TypeError("startSandbox has no option ports; it has seed, flags, executable, log, startTimeoutMs"),
  );
});

describe("a start that fails rejects with the command's own line", () => {
  test("a port that is in use", async () => {
    await using other = await startSandbox();
    const { port } = new URL(other.url);
    const { message, output } = await startError({ flags: ["--port", port] });
    expect(message).toMatch(/^plantstore: .*EADDRINUSE/);
    expect(output).toEndWith(`${message}\n`);
  });

  test.each<[name: string, options: () => SandboxOptions, message: RegExp]>([
    ["a flag that does not exist", () => ({ flags: ["--databse", "x"] }), /--databse/],
    ["a seed that is not a plant", () => ({ seed: [{ id: 2, name: "\0" }] }), /line 1/],
    [
      "an executable that does not exist",
      () => ({ executable: "/nowhere/plantstore" }),
      /\/nowhere\/plantstore/,
    ],
    [
      "flags without the admin listener",
      () => ({ flags: ["--admin-port", "off"] }),
      /^The sandbox has no admin listener; start it without --admin-port off\.$/,
    ],
    [
      "an executable that is never ready",
      () => ({
        // Its child outlives it, and keeps its standard error open.
        executable: writeProgram("sleeping", "echo waiting >&2; sleep 20; true"),
        startTimeoutMs: 200,
      }),
      /^The sandbox was not ready within 200 ms\./,
    ],
  ])("%s", async (_, options, message) => {
    expect((await startError(options())).message).toMatch(message);
  });
});

describe("a call after the end is a SandboxEndedError", () => {
  test("of a sandbox that was closed, also twice, with a request that it has not answered", async () => {
    const sandbox = await startSandbox();
    await sandbox.force({ outcome: { delay: { seconds: 600 } } });
    const unanswered = post(sandbox, plantJson(1n, "Monstera")).catch(() => "no response");
    await eventually("the rule is applied", async () => (await sandbox.rules())[0]?.applied !== 0);
    await Promise.all([sandbox.close(), sandbox.close()]);
    expect(await unanswered).toBe("no response");
    expect(await settled(sandbox.resources())).toThrow(new SandboxEndedError("The sandbox is closed."));
    expect(() => process.kill(sandbox.pid, 0)).toThrow("ESRCH");
  });

  test("of a sandbox that was killed", async () => {
    await using sandbox = await startSandbox();
    process.kill(sandbox.pid, "SIGKILL");
    const error = await sandbox.reset().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SandboxEndedError);
    expect(error).toMatchObject({ message: expect.stringContaining("The sandbox has ended (SIGKILL).") });
  });
});

/** Programs that use the module, on each runtime. */
describe.each([
  ["bun", process.execPath],
  ["node", programPath("node")],
])("on %s", (runtime, runtimePath) => {
  const temporary = folder.file(`${runtime}-tmp`);
  let module: string;
  beforeAll(async () => {
    mkdirSync(temporary);
    // JavaScript, which Node 20 runs.
    const entrypoints = [new URL("../../../packages/sandbox/src/index.ts", import.meta.url).pathname];
    const { outputs } = await Bun.build({ entrypoints, target: "node" });
    module = folder.file(`${runtime}-module.mjs`);
    await Bun.write(module, outputs[0] ?? "");
  });

  /** Runs a program in a session of its own, with a folder of its own for temporary files. */
  function spawnProgram(source: string): Bun.Subprocess<"ignore", "pipe", "pipe"> {
    const file = folder.file(`${runtime}-${crypto.randomUUID()}.mjs`);
    writeFileSync(
      file,
      `import { startSandbox as start } from ${JSON.stringify(module)};
       const startSandbox = (options) => start({ executable: ${JSON.stringify(plantstore)}, ...options });
       const seed = [{ id: 9007199254740993n, name: "Monstera" }];
       ${source}`,
    );
    return Bun.spawn([runtimePath, file], {
      env: { PATH: process.env.PATH ?? "", TMPDIR: temporary },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
      detached: true,
    });
  }

  /** Waits until no process of a session is left, and expects no file to be. */
  async function expectNothingLeft(leader: number): Promise<void> {
    await sessionEnd(leader);
    expect(readdirSync(temporary)).toEqual([]);
  }

  test("a program that does not close its sandbox ends, prints only its own lines, and leaves nothing", async () => {
    const child = spawnProgram(
      `const sandbox = await startSandbox({ seed });
       console.log((await sandbox.resources())[0].id);`,
    );
    expect(await collectResult(child)).toEqual({ exitCode: 0, stdout: "9007199254740993n\n", stderr: "" });
    await expectNothingLeft(child.pid);
  });

  test("a start that cannot write its seeds says where", async () => {
    const child = spawnProgram(
      `process.env.TMPDIR = "/dev/null";
       console.log(String(await startSandbox({ seed }).catch((error) => error)));`,
    );
    expect((await collectResult(child)).stdout).toBe(
      "SandboxStartError: The seeds cannot be written to /dev/null (ENOTDIR); set TMPDIR to a folder that is writable.\n",
    );
  });

  test("it works while the test has replaced timers and fetch, and close() leaves nothing", async () => {
    const child = spawnProgram(
      `for (const name of ["setTimeout", "setInterval", "setImmediate", "fetch"])
         globalThis[name] = () => { throw new Error(name); };
       const sandbox = await startSandbox({ seed });
       console.log((await sandbox.resource(9007199254740993n)).name);
       await sandbox.close();
       console.log(await sandbox.reset().catch((error) => error.name));`,
    );
    expect(await collectResult(child)).toEqual({
      exitCode: 0,
      stdout: "Monstera\nSandboxEndedError\n",
      stderr: "",
    });
    await expectNothingLeft(child.pid);
  });

  test("after kill -9 of a program with three, and a child that lives on, nothing is left", async () => {
    const child = spawnProgram(
      `import { spawn } from "node:child_process";
       const sandboxes = await Promise.all([1, 2, 3].map(() => startSandbox({ seed })));
       const { pid } = spawn("sleep", ["600"], { stdio: "ignore" });
       console.log(JSON.stringify([pid, ...sandboxes.map(({ url }) => url)]));
       setTimeout(() => undefined, 60_000);`,
    );
    const line = await new Output(child.stdout).until((text) => (text.endsWith("\n") ? text : undefined));
    const [sleeping, ...urls] = JSON.parse(line) as [number, ...string[]];
    child.kill("SIGKILL");
    await eventually("all but the child that lives on have ended", () =>
      sessionOf(child.pid).every((pid) => pid === sleeping),
    );
    process.kill(sleeping, "SIGKILL");
    expect(urls).toHaveLength(3);
    for (const url of urls) expect(await settled(fetch(url))).toThrow();
    await expectNothingLeft(child.pid);
  });
});
