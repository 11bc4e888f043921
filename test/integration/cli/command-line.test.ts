// The command line: output streams, exit codes, and errors of one line.

import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { groups, serverSettingNames } from "../../../src/process/config/settings.ts";
import { plantJson, post } from "../../support/http.ts";
import { jsonLines, Output } from "../../support/output.ts";
import { reservePort } from "../../support/ports.ts";
import { testIfInstalled } from "../../support/programs.ts";
import {
  plantstore,
  RunningServer,
  run,
  runCommand,
  runIn,
  TemporaryFolder,
  withStore,
} from "../../support/server.ts";

import { storePlants } from "../../support/stored-plants.ts";

const root = new URL("../../../", import.meta.url).pathname;

test("the first start prints a token and a curl command on standard output; the second does not, and the log never does", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  const first = await RunningServer.startInProcess({ database });
  const { stdout, stderr } = await first.stop();
  const token = /pst_[A-Za-z0-9_-]{43}/.exec(stdout)?.[0] ?? "";
  expect(stderr).not.toContain("pst_");
  expect(stdout).toContain(`curl -i -w '\\n' ${first.url}/plants`);
  // Both URLs are printed, unless the page is disabled.
  expect(stdout).toContain(`or in a browser: ${first.url}/\n`);
  expect(stdout).toMatch(/\nThe console is at http:\/\/127\.0\.0\.1:\d+\/console\/\n/);
  await using bare = await RunningServer.startInProcess({ args: ["--docs", "off", "--console", "off"] });
  const { stdout: bareOutput } = await bare.stop();
  expect(bareOutput).toContain("curl -i");
  expect(bareOutput).not.toMatch(/browser|console/);

  await using second = await RunningServer.startInProcess({ database });
  expect((await post({ url: second.url, token }, plantJson(1n, "Monstera"))).status).toBe(200);
  expect(await second.stop()).toMatchObject({ stdout: `${second.url}\n` });
});

testIfInstalled(
  "curl",
  "the curl command of the first start, and README's with its token, do what README says",
  async () => {
    using folder = new TemporaryFolder();
    const database = `sqlite:${folder.file("plants.db")}`;
    const child = Bun.spawn(
      [plantstore, "serve", "--admin-port", "off", "--port", "0", "--database", database],
      { stdout: "pipe", stderr: "ignore" },
    );
    const shown = await new Output(child.stdout).until((text) => (text.includes("}'") ? text : undefined));
    const [url = ""] = shown.split("\n");
    const printed = /^curl -i .*'\{.*\}'$/ms.exec(shown)?.[0] ?? "";
    const readme = await Bun.file(new URL("../../../README.md", import.meta.url)).text();
    const pasted = (/^TOKEN=pst_.*?'\{.*?\}'$/ms.exec(readme)?.[0] ?? "")
      .replace("pst_…", /pst_[\w-]{43}/.exec(shown)?.[0] ?? "")
      .replace("http://127.0.0.1:8080", url);
    const paste = (command: string) =>
      Bun.spawn(["sh", "-c", command], { stdout: "pipe", stderr: "ignore" }).stdout.text();
    const promised = /^HTTP\/1\.1 200 OK\n(?:.*\n)*?\n(.*)\n```/m.exec(readme)?.[1] ?? "";
    expect(promised).toContain("Monstera deliciosa");
    const answer = new RegExp(`^HTTP/1.1 200 OK\r\n[\\s\\S]*${RegExp.escape(promised)}\n?$`);
    for (const command of [pasted, pasted]) expect(await paste(command)).toMatch(answer);
    // A service with other fields prints them. The next prompt is on a line of its own.
    expect(await paste(printed.replace(/"id": \d+/, '"id": 1'))).toMatch(/^HTTP\/1.1 200 OK\r\n[\s\S]*\}\n$/);
    // Sends the same id with different content.
    expect(await paste(pasted.replace("deliciosa", "adansonii"))).toMatch(
      /^HTTP\/1.1 400 [\s\S]*"error":40009/,
    );
    const id = /plantstore get (\d+)/.exec(readme)?.[1] ?? "";
    expect((await runCommand(["get", id, "--database", database])).stdout).toContain("Monstera deliciosa");
    child.kill();
    await child.exited;
  },
);

test("get and export print plants exactly, while the server runs", async () => {
  await using server = await RunningServer.startInProcess();
  const target = await server.target();
  await post(target, plantJson(9007199254740993n, "Monstera 🌱", "tropical"));
  await post(target, plantJson(-7n, 'with "quotes"\n'));

  const big = '{"id":9007199254740993,"name":"Monstera 🌱","tag":"tropical"}\n';
  const small = '{"id":-7,"name":"with \\"quotes\\"\\n"}\n';
  expect(await server.command("get", "9007199254740993")).toEqual({ exitCode: 0, stdout: big, stderr: "" });
  expect(await server.command("get", "-7")).toEqual({ exitCode: 0, stdout: small, stderr: "" });
  expect(await server.command("export")).toEqual({ exitCode: 0, stdout: small + big, stderr: "" });
  expect(await server.command("get", "8")).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: "plantstore: there is no plant with the id 8 in this store\n",
  });
});

test("export exits with 0 and no error when its reader exits", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  const name = "x".repeat(20_000);
  await storePlants(
    database,
    Array.from({ length: 30 }, (_, id) => ({ id: BigInt(id), name })),
  );
  const shell = Bun.spawn(
    ["sh", "-c", `{ ${plantstore} export --database ${database}; echo "exit $?" >&2; } | head -c 10`],
    {
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  expect(await shell.stdout.text()).toBe('{"id":0,"n');
  expect(await shell.stderr.text()).toBe("exit 0\n");
});

test("token create prints only the token, list prints its state, revoke revokes it", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await withStore(database, "create", ({ tokens }) =>
    tokens.add({ hash: "a", name: "first", createdAt: 1, expiresAt: null }),
  );
  const command = (...args: string[]) => runCommand([...args, "--database", database]);
  const created = await command("token", "create", "--name", "ci", "--expires", "90d");
  expect(created.exitCode).toBe(0);
  expect(created.stdout).toMatch(/^pst_[A-Za-z0-9_-]{43}\n$/);
  expect(created.stderr).toMatch(/^Token "ci" issued, valid until \d{4}-.*\n$/);
  // Only its hash is in the store.
  const file = Buffer.from(await Bun.file(folder.file("plants.db")).arrayBuffer());
  expect(file.includes("ci")).toBe(true);
  expect(file.includes(created.stdout.trim().slice("pst_".length))).toBe(false);

  const again = await command("token", "create", "--name", "ci");
  expect(again).toMatchObject({
    exitCode: 1,
    stdout: "",
    stderr: 'plantstore: a token named "ci" already exists; choose another name, or rotate or revoke it\n',
  });

  const list = await command("token", "list");
  expect(list.stdout).toMatch(
    /^NAME +STATE +SCOPES +CREATED +EXPIRES +REVOKED +LAST USED\nfirst +active .*\nci +active .*\n$/,
  );
  expect(list.stdout).not.toContain(created.stdout.trim());

  expect(await command("token", "revoke", "ci")).toMatchObject({ exitCode: 0, stdout: "" });
  const json = jsonLines((await command("token", "list", "--json", "--all")).stdout);
  expect(json).toMatchObject([
    { name: "first", state: "active", expires: null, revoked: null, lastUsed: null },
    { name: "ci", state: "revoked", expires: expect.any(String), revoked: expect.any(String) },
  ]);
  expect(await command("token", "revoke", "ci")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('no active token is named "ci"'),
  });
  expect((await command("token", "create", "--name", "ci")).exitCode).toBe(0);
});

test.each([
  ["get 1", "standard output could not be written (ENOSPC); free some space, and try again"],
  ["config", "standard output could not be written (ENOSPC); free some space, and try again"],
  ["export", "the export could not be written (ENOSPC); free some space, and run it again"],
])("%s to a full disk is an error of one line", async (command, message) => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await storePlants(database, [{ id: 1n, name: "Monstera" }]);
  const shell = Bun.spawn(["sh", "-c", `${plantstore} ${command} --database ${database} >/dev/full`], {
    stderr: "pipe",
  });
  expect(await shell.stderr.text()).toBe(`plantstore: ${message}\n`);
  expect(await shell.exited).toBe(1);
});

test("a start that fails exits with 1, also if its log cannot be written", async () => {
  const database = `postgres://user@127.0.0.1:${reservePort()}/plants?retry_timeout=1`;
  const line = `${plantstore} serve --port 0 --admin-port off --database '${database}' 2>/dev/full`;
  expect((await runIn(root, ["sh", "-c", line])).exitCode).toBe(1);
});

const usageErrors: readonly [args: string[], message: string][] = [
  [["serv"], "unknown command 'serv' (Did you mean serve?)"],
  [["serve", "--prot", "1"], "unknown option '--prot' (Did you mean --port?)"],
  [["serve", "--base-path", "v1"], "is not a path such as /v1"],
  [["serve", "--cors", "docs.example"], "is not *, off, or a list of origins"],
  ...["two\nlines", "a\u202eb", "a\u2066b", "\x1b[2J"].map((name): [args: string[], message: string] => [
    ["token", "create", "--name", name],
    "is not one line of text that a terminal shows as it is",
  ]),
  [["token", "create", "--name", "x", "--expires", "2020-01-31"], "is not never, a duration"],
  [["token", "create", "--name", "x", "--expires", "2099-02-30"], "is not never, a duration"],
  [["token", "create", "--name", "x", "--expires", "999999w"], "is not never, a duration"],
  [["history", "--since", "yesterday"], "is not a duration such as 7d or 12h, or a date"],
  [["serve", "--database", "mongodb://x"], "must be sqlite:FILE or postgres:"],
  ...["//x.db", "x.db?mode=rwc", "file:x.db"].map((path): [args: string[], message: string] => [
    ["migrate", "--database", `sqlite:${path}`],
    "after sqlite: comes the path of a file, without parameters, such as sqlite:plants.db",
  ]),
  ...["-wal", "-shm", "-journal", "-disk-failed"].map((suffix): [args: string[], message: string] => [
    ["migrate", "--database", `sqlite:plants.db${suffix}`],
    `a name that ends with ${suffix} is reserved for a file next to a store; name another file`,
  ]),
  [["config", "--jwt-issuer", "https://a.example", "--jwt-issuer", "https://b.example"], "given twice"],
  [["config", "--jwt-claim", "acme"], "is not a claim and its value, such as repository_owner=acme"],
  [["config", "--jwt-claim", "a=b"], "--jwt-issuer is missing"],
  [["token", "rotate"], "missing required argument 'name'"],
  [["token", "rotate", "x", "--overlap", "1 day"], "is not a duration such as 7d, 12h or 0s"],
  [["get"], "missing required argument 'id'"],
  [["export", "extra"], "too many arguments"],
  [["backup", "x", "--database", "postgres://plantstore@127.0.0.1:1/none"], "pg_dump"],
  [["restore", "x", "--database", "postgres://plantstore@127.0.0.1:1/none"], "pg_restore"],
  [["ready", "--admin-port", "off", "--port", "0"], "--port 0 is a port that only the server knows"],
  [["token", "create"], "--name is required; give it, or set PLANTSTORE_TOKEN_NAME"],
];
test.each(usageErrors)("%j is a usage error: exit code 2 and one line", async (args, message) => {
  const { exitCode, stderr } = await runCommand(args);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
});

test("a process prints the line of a usage error, and nothing on standard output", async () => {
  const examples = [0, 2, usageErrors.length - 1].map((index) => usageErrors[index]?.[0] ?? []);
  for (const args of examples) expect(await run(args)).toEqual({ ...(await runCommand(args)), stdout: "" });
});

test("a failure is exit code 1 and one line that says what to do", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("text.db"), "not a database file ".repeat(100));
  for (const database of [`sqlite:${folder.file("no/folder/plants.db")}`, `sqlite:${folder.path}`]) {
    const { exitCode, stderr } = await runCommand(["migrate", "--database", database]);
    expect({ database, exitCode }).toEqual({ database, exitCode: 1 });
    expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
  }
  const text = await runCommand(["serve", "--database", `sqlite:${folder.file("text.db")}`]);
  expect(text).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: expect.stringMatching(/^plantstore: [^\n]+\n$/),
  });
});

test("a port in use is an error of one line, and the next start prints the first token", async () => {
  await using holder = await RunningServer.startInProcess();
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  const adminPort = new URL(await holder.adminUrl()).port;
  for (const [flag, port, otherFlags] of [
    ["--port", new URL(holder.url).port, ["--admin-port", "off"]],
    ["--admin-port", adminPort, ["--port", "0"]],
  ] as const)
    expect(await runCommand(["serve", flag, port, ...otherFlags, "--database", database])).toMatchObject({
      exitCode: 1,
      stderr: `plantstore: cannot listen on 127.0.0.1:${port} (EADDRINUSE); stop the program that uses it, or choose another with ${flag}\n`,
    });
  const next = await RunningServer.startInProcess({ database });
  expect((await next.stop()).stdout).toContain("pst_");
});

test("--help prints the usage, and exits with 0", async () => {
  for (const args of [
    ["--help"],
    ["serve", "--help"],
    ["token", "--help"],
    ["token", "create", "--help"],
    ["token", "rotate", "--help"],
    ["get", "--help"],
  ]) {
    const { exitCode, stdout, stderr } = await runCommand(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toStartWith("Usage: plantstore ");
    if (args[0] !== "serve") continue;
    // Every setting is below a heading.
    const headings = [...stdout.matchAll(/^(\S.*:)\n((?: .*\n)+)/gm)];
    expect(headings.map(([, heading]) => heading)).toEqual(["Options:", ...Object.keys(groups)]);
    const flagsOf = (text = "") => text.match(/^ {2}--?[\w-]+/gm) ?? [];
    expect(flagsOf(headings[0]?.[2])).toEqual(["  --config", "  -h"]);
    expect(headings.flatMap(([, , text]) => flagsOf(text))).toHaveLength(serverSettingNames.length + 2);
    expect(Math.max(...stdout.split("\n").map((line) => line.length))).toBeLessThanOrEqual(80);
  }
});

test("messages and help name commands as this one was called", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("none.db")}`;
  const missing = await runIn(root, ["bin/plantstore", "get", "1", "--database", database]);
  expect(missing.stderr).toStartWith("plantstore: ");
  expect(missing.stderr).toContain('"bin/plantstore migrate"');
  expect((await runIn(root, ["bin/plantstore", "restore", "--help"])).stdout).toContain(
    '"bin/plantstore backup"',
  );
  mkdirSync(folder.file("node_modules/.bin"), { recursive: true });
  symlinkSync(plantstore, folder.file("node_modules/.bin/plantstore"));
  const asDependency = await runIn(folder.path, ["node_modules/.bin/plantstore", "--help"]);
  expect(asDependency.stdout).toStartWith("Usage: npx plantstore ");
  expect(asDependency.stdout).toContain("\n  npx plantstore token create");
});
