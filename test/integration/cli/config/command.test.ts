// The command line and the real process: configuration from each source to a command. The golden
// files hold what `plantstore config` prints by default; after a changed default, run it again and
// commit its output.

import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { resolveConfig } from "../../../../src/cli/config/resolve.ts";
import { commandError } from "../../../support/commands.ts";
import { flagsFrom, kubernetesVariables } from "../../../support/configuration.ts";
import { plantJson, post } from "../../../support/http.ts";
import { Output } from "../../../support/output.ts";
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

test("an invalid configuration ends each command with exit code 2 and one line", async () => {
  using folder = new TemporaryFolder();
  const file = folder.file("plantstore.env");
  writeFileSync(file, '\nPLANTSTORE_PORT="x"\n');
  const invalid = `plantstore: ${file}, line 2: PLANTSTORE_PORT: "x" is not an integer from 0 to 65535\n`;
  const unknown = "plantstore: unknown setting PLANTSTORE_PROT; did you mean PLANTSTORE_PORT?\n";
  const contradiction = "plantstore: --token-burst requires --token-rate; give both or neither\n";
  for (const command of ["config", "serve"])
    expect(await commandError([command, "--config", file])).toEqual({ exitCode: 2, stderr: invalid });
  const cases: [command: string, env: Record<string, string>, stderr: string][] = [
    ["config", { PLANTSTORE_CONFIG: file }, invalid],
    ["serve", { PLANTSTORE_TOKEN_BURST: "5" }, contradiction],
    ["export", { PLANTSTORE_PROT: "1" }, unknown],
  ];
  for (const [command, env, stderr] of cases)
    expect(await runCommand([command], env)).toEqual({ exitCode: 2, stdout: "", stderr });
});

test("a misspelt flag is an error, and the nearest one is suggested", async () => {
  expect(await commandError(["config", "--prot", "1"])).toEqual({
    exitCode: 2,
    stderr: "plantstore: unknown option '--prot' (Did you mean --port?); see --help\n",
  });
});

test("a switch is on or off in every source", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("plantstore.env"), "PLANTSTORE_JSON=on\n");
  const file = ["--config", folder.file("plantstore.env")];
  const isJson = (args: readonly string[], env: Record<string, string>) =>
    resolveConfig(["json"], flagsFrom(args, ["json"]), env).json;
  expect(isJson(file, {})).toBe(true);
  expect(isJson(file, { PLANTSTORE_JSON: "off" })).toBe(false);
  expect(isJson([...file, "--json"], { PLANTSTORE_JSON: "off" })).toBe(true);
  expect((await runCommand(["config", ...file])).stdout).toStartWith("{");
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

test("in a pod: a mounted secret, a mounted configuration, and what Kubernetes sets for Services", async () => {
  using folder = new TemporaryFolder();
  // As the kubelet mounts them, so that it can change all of a volume's files at once.
  const database = `sqlite:${folder.file("plants.db")}`;
  mkdirSync(folder.file("..2026_11_21"));
  writeFileSync(folder.file("..2026_11_21/database"), database);
  writeFileSync(
    folder.file("..2026_11_21/plantstore.env"),
    "PLANTSTORE_BASE_PATH=/shop\nPLANTSTORE_ADMIN_PORT=off\n",
  );
  symlinkSync("..2026_11_21", folder.file("..data"));
  for (const name of ["database", "plantstore.env"]) symlinkSync(`..data/${name}`, folder.file(name));
  const env = {
    PATH: process.env.PATH ?? "",
    PLANTSTORE_CONFIG: folder.file("plantstore.env"),
    PLANTSTORE_DATABASE_FILE: folder.file("database"),
    ...kubernetesVariables("PLANTSTORE", "10.96.0.12", "8080"),
    ...kubernetesVariables("PLANTSTORE_ADMIN", "[fd00::12]", "8081"),
  };
  expect((await runCommand(["config"], env)).stdout).toMatch(/^PLANTSTORE_PORT +8080 +default$/m);

  const server = Bun.spawn([plantstore, "serve", "--port", "0"], { env, stdout: "pipe", stderr: "ignore" });
  const url = await new Output(server.stdout).until((text) => /^(.+)\n/.exec(text)?.[1]);
  expect(url).toEndWith("/shop");
  const token = (await runCommand(["token", "create", "--name", "ci"], env)).stdout.trim();
  expect((await post({ url, token }, plantJson(1n, "Monstera"))).status).toBe(200);
  server.kill();
  expect(await server.exited).toBe(0);
  expect((await runCommand(["get", "1", "--database", database])).exitCode).toBe(0);
});

test("a configuration may come through a pipe", async () => {
  const shell = Bun.spawn(
    ["sh", "-c", `echo PLANTSTORE_HOST=piped | ${plantstore} config --config /dev/stdin`],
    {
      stdout: "pipe",
    },
  );
  expect(await shell.stdout.text()).toMatch(/^PLANTSTORE_HOST +piped +config file$/m);
});

test("the error for an unreachable database does not contain its password", async () => {
  using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
  const { exitCode, stderr } = await runCommand(["serve"], {
    PLANTSTORE_DATABASE: `postgres://u:xq7zj@127.0.0.1:${server.port}/d?retry_timeout=1&connect_timeout=1`,
  });
  expect(exitCode).toBe(1);
  expect(stderr).not.toContain("xq7zj");
});
