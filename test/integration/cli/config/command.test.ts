// The command line and the real process: configuration from each source to a command. The golden
// files hold what `plantstore config` prints by default; after a changed default, run it again and
// commit its output.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { plantJson } from "../../../support/http.ts";
import { plantstore, runCommand, TemporaryFolder } from "../../../support/server.ts";

const golden = (name: string) => Bun.file(new URL(`golden/${name}`, import.meta.url)).text();

test("the defaults are those of the golden files, as a table and as JSON", async () => {
  expect(await runCommand(["config"])).toEqual({
    exitCode: 0,
    stdout: await golden("config.txt"),
    stderr: "",
  });
  expect(await runCommand(["config", "--json"])).toEqual({
    exitCode: 0,
    stdout: await golden("config.ndjson"),
    stderr: "",
  });
});

test("every command takes the settings that it uses from the configuration file", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  writeFileSync(
    file,
    `PLANTSTORE_DATABASE=sqlite:${folder.file("plants.db")}\nPLANTSTORE_TOKEN_NAME=from-file\nPLANTSTORE_QUIET=on\nPLANTSTORE_JSON=on\nPLANTSTORE_PORT=9\n`,
  );
  writeFileSync(folder.file("plants.ndjson"), plantJson(1n, "Monstera"));
  const succeeds = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await runCommand([...args, "--config", file]);
    expect({ args, exitCode, stderr: exitCode === 0 ? "" : stderr }).toEqual({
      args,
      exitCode: 0,
      stderr: "",
    });
    return { stdout, stderr };
  };
  await succeeds("migrate");
  expect((await succeeds("token", "create")).stderr).toStartWith('Token "from-file" issued');
  expect(JSON.parse((await succeeds("token", "list")).stdout)).toMatchObject({ name: "from-file" });
  await succeeds("token", "revoke", "from-file");
  expect((await succeeds("import", folder.file("plants.ndjson"))).stderr).toBe("");
  expect((await succeeds("get", "1")).stdout).toBe('{"id":1,"name":"Monstera"}\n');
  expect((await succeeds("export")).stdout).toBe('{"id":1,"name":"Monstera"}\n');
});

test("files of the folder where it runs are not read unless they are named", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file(".env"), "PLANTSTORE_PORT=1\n");
  writeFileSync(folder.file("bunfig.toml"), 'preload = ["./foreign.ts"]\n');
  writeFileSync(folder.file("foreign.ts"), 'process.stdout.write("foreign code\\n");\n');
  const { PATH = "" } = process.env;
  const child = Bun.spawn([plantstore, "config"], { cwd: folder.path, env: { PATH }, stdout: "pipe" });
  expect(await child.stdout.text()).toBe(await golden("config.txt"));
});

test("a configuration may come through a pipe, and is printed without its password", async () => {
  const shell = Bun.spawn(
    [
      "sh",
      "-c",
      `echo PLANTSTORE_DATABASE=postgres://u:xq7zj@h/d | ${plantstore} config --config /dev/stdin`,
    ],
    { stdout: "pipe" },
  );
  expect(await shell.stdout.text()).toMatch(
    /^PLANTSTORE_DATABASE +postgres:\/\/u:\*\*\*@h\/d +config file$/m,
  );
});

test("the error for an unreachable database does not contain its password", async () => {
  using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { exitCode, stderr } = await runCommand(["serve"], {
    PLANTSTORE_DATABASE: `postgres://u:xq7zj@127.0.0.1:${server.port}/d?retry_timeout=1&connect_timeout=1`,
  });
  expect(exitCode).toBe(1);
  expect(stderr).not.toContain("xq7zj");
});
