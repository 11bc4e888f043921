// plantstore config, the configuration file of other commands, and settings at their limits.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { startSandbox } from "../../../packages/sandbox/src/index.ts";
import { flagName, serverSettingNames, settings } from "../../../src/process/config/settings.ts";
import { foreignCodeRun } from "../../support/foreign-code.ts";
import { plantJson, post } from "../../support/http.ts";
import { jsonLines, logLines } from "../../support/output.ts";
import { programPath } from "../../support/programs.ts";
import { plantstore, RunningServer, runCommand, runIn, TemporaryFolder } from "../../support/server.ts";

test("config prints each setting with its source, as a table and as JSON", async () => {
  const args = ["config", "--port", "9", "--database", "postgres://u:xq7zj@h/d"];
  const { stdout } = await runCommand(args);
  expect(stdout).toMatch(/^SETTING +VALUE +SOURCE\nPLANTSTORE_CONFIG +- +default\n/);
  expect(stdout).toMatch(/^PLANTSTORE_DATABASE +postgres:\/\/u:\*\*\*@h\/d +flag$/m);
  const rows = jsonLines((await runCommand([...args, "--json"])).stdout);
  expect(rows).toHaveLength(serverSettingNames.length + 1);
  expect(rows).toContainEqual({ name: "PLANTSTORE_PORT", value: 9, source: "flag" });
  expect(rows).toContainEqual({ name: "PLANTSTORE_TLS_KEY", value: null, source: "default" });
});

test("every command takes the settings that it uses from the configuration file", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  const database = `sqlite:${folder.file("plants.db")}`;
  writeFileSync(
    file,
    `PLANTSTORE_DATABASE=${database}\nPLANTSTORE_TOKEN_NAME=from-file\nPLANTSTORE_JSON=on\n`,
  );
  const command = (line: string) => runCommand([...line.split(" "), "--config", file]);
  for (const line of ["migrate", "token create"]) expect(await command(line)).toMatchObject({ exitCode: 0 });
  expect(JSON.parse((await command("token list")).stdout)).toMatchObject({ name: "from-file" });
});

test.each([
  ["a shell", []],
  ["Node", ["node"]],
])("started by %s, a command runs no code of the folder where it runs", async (_, under) => {
  const expected = await runCommand(["config"]);
  const run = async (folder: string) =>
    expect(await runIn(folder, [...under, plantstore, "config"])).toEqual(expected);
  expect(await foreignCodeRun(run)).toEqual([]);
});

test("nor do a server and its threads, or a sandbox that a test starts", async () => {
  const within = (folder: string) => ["sh", "-c", 'cd "$0" && exec "$@"', folder];
  const run = async (folder: string) => {
    await using server = await RunningServer.start({ under: within(folder) });
    expect((await post(await server.target(), plantJson(1n, "Monstera"))).status).toBe(200);
  };
  const startHelper = async (folder: string) => {
    using helper = new TemporaryFolder();
    const executable = helper.file("plantstore");
    writeFileSync(executable, `#!/bin/sh\ncd '${folder}' && exec '${plantstore}' "$@"\n`, { mode: 0o755 });
    await using _ = await startSandbox({ executable });
  };
  expect(await foreignCodeRun(run)).toEqual([]);
  expect(await foreignCodeRun(startHelper)).toEqual([]);
});

test("a pipe as a configuration file is an error, and is not waited for", async () => {
  using folder = new TemporaryFolder();
  const pipe = folder.file("pipe");
  Bun.spawnSync([programPath("mkfifo"), pipe]);
  expect(await runCommand(["config", "--config", pipe])).toEqual({
    exitCode: 2,
    stdout: "",
    stderr: `plantstore: --config: ${pipe} is not a regular file; is it the right path?\n`,
  });
});

test("the error for an unreachable database does not contain its password", async () => {
  using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { exitCode, stderr } = await runCommand(["serve"], {
    PLANTSTORE_DATABASE: `postgres://u:xq7zj@127.0.0.1:${server.port}/d?retry_timeout=1&connect_timeout=1`,
  });
  expect(exitCode).toBe(1);
  expect(stderr).not.toContain("xq7zj");
});

/** The flags that set the numeric settings, whose error contains a range, to one of its ends. */
function flagsAt(end: 1 | 2, excluded: RegExp): string[] {
  return serverSettingNames.flatMap((name) => {
    try {
      settings[name].parse("no number");
    } catch (error) {
      const limit = / an integer from (\d+) to (\d+)$/.exec((error as Error).message)?.[end];
      if (limit !== undefined && !excluded.test(name)) return [flagName(name), limit];
    }
    return [];
  });
}

test.each([
  ["minima", [...flagsAt(1, /port$|BytesMax|tokenRate/i), "--token-rate", "1"]],
  ["maxima", flagsAt(2, /port$/i)],
])("with all numbers at their %s a create succeeds, and no timer overflows", async (_, args) => {
  await using server = await RunningServer.startInProcess({ args });
  expect((await post(await server.target(), plantJson(1n, "Monstera"))).status).toBe(200);
  const { exitCode, stderr } = await server.stop();
  expect(exitCode).toBe(0);
  // A timer that overflows warns on standard error. One connection is a warning.
  expect(stderr.split("\n").filter((line) => line !== "" && !line.startsWith("{"))).toEqual([]);
  const warnings = logLines(stderr).filter(({ level }) => level !== "info");
  for (const { msg } of warnings) expect(msg).toMatch(/too many connections/);
});
