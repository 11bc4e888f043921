// The command line as an operator meets it: what goes to which stream, exit codes, one line for an error.

import { expect, test } from "bun:test";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { plantJson, post } from "../../support/http.ts";
import { testIfInstalled } from "../../support/programs.ts";
import { createStore, plantstore, RunningServer, run, TemporaryFolder } from "../../support/server.ts";

/** A store with a server on it. */
async function newServer(folder: TemporaryFolder, args: readonly string[] = []): Promise<RunningServer> {
  return RunningServer.start({ database: `sqlite:${folder.file("plants.db")}`, args });
}

test("the first start shows a first token and a curl, on standard output; the second shows none, and the log never does", async () => {
  using folder = new TemporaryFolder();
  const first = await newServer(folder);
  const { stdout, stderr } = await first.stop();
  const token = /pst_[A-Za-z0-9_-]{43}/.exec(stdout)?.[0] ?? "";
  expect(stderr).not.toContain("pst_");
  expect(stdout).toContain(`curl -i ${first.url}/plants`);
  // Both are there, and are told only where they are.
  expect(stdout).toContain(`or in a browser: ${first.url}/\n`);
  expect(stdout).toMatch(/\nThe console is at http:\/\/127\.0\.0\.1:\d+\/console\/\n/);
  using other = new TemporaryFolder();
  const bare = await (await newServer(other, ["--docs", "off", "--console", "off"])).stop();
  expect(bare.stdout).toContain("curl -i");
  expect(bare.stdout).not.toMatch(/browser|console/);

  await using second = await newServer(folder);
  expect((await post({ url: second.url, token }, plantJson(1n, "Monstera"))).status).toBe(200);
  expect(await second.stop()).toMatchObject({ stdout: `${second.url}\n` });
});

testIfInstalled(
  "curl",
  "the curl that the first start shows works when it is pasted into a shell",
  async () => {
    using folder = new TemporaryFolder();
    const database = `sqlite:${folder.file("plants.db")}`;
    const child = Bun.spawn(
      [plantstore, "serve", "--admin-port", "off", "--port", "0", "--database", database],
      {
        stdout: "pipe",
        stderr: "pipe",
      },
    );
    let shown = "";
    for await (const chunk of child.stdout) {
      shown += new TextDecoder().decode(chunk);
      if (shown.includes('"tropical"}')) break;
    }
    const curl = shown.slice(shown.indexOf("curl -i"), shown.lastIndexOf("'") + 1);
    const pasted = Bun.spawn(["sh", "-c", curl], { stdout: "pipe", stderr: "ignore" });
    expect(await pasted.stdout.text()).toMatch(
      /^HTTP\/1.1 200 OK\r\n[\s\S]*\{"name":"Monstera deliciosa","tag":"tropical"\}$/,
    );
    child.kill();
    await child.exited;
  },
);

test("get and export print plants exactly, while the server runs", async () => {
  using folder = new TemporaryFolder();
  await using server = await newServer(folder);
  const target = { url: server.url, token: await server.createToken() };
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

test("export ends quietly when its reader has seen enough", async () => {
  using folder = new TemporaryFolder();
  await using server = await newServer(folder);
  const target = { url: server.url, token: await server.createToken() };
  await Promise.all(
    Array.from({ length: 30 }, (_, id) => post(target, plantJson(BigInt(id), "x".repeat(20_000)))),
  );
  const shell = Bun.spawn(
    ["sh", "-c", `{ ${plantstore} export --database ${server.database}; echo "exit $?" >&2; } | head -c 10`],
    {
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  expect(await shell.stdout.text()).toBe('{"id":0,"n');
  expect(await shell.stderr.text()).toBe("exit 0\n");
});

test("token create prints the bare token alone, list shows it, revoke ends it", async () => {
  using folder = new TemporaryFolder();
  await using server = await newServer(folder);
  const created = await server.command("token", "create", "--name", "ci", "--expires", "90d");
  expect(created.exitCode).toBe(0);
  expect(created.stdout).toMatch(/^pst_[A-Za-z0-9_-]{43}\n$/);
  expect(created.stderr).toMatch(/^Token "ci" is issued until \d{4}-.*\n$/);

  const again = await server.command("token", "create", "--name", "ci");
  expect(again).toMatchObject({
    exitCode: 1,
    stdout: "",
    stderr: 'plantstore: a token named "ci" exists already; choose another name, or rotate or revoke it\n',
  });

  const list = await server.command("token", "list");
  expect(list.stdout).toMatch(
    /^NAME +STATE +CREATED +EXPIRES +REVOKED +LAST USED\nfirst +in force .*\nci +in force .*\n$/,
  );
  expect(list.stdout).not.toContain(created.stdout.trim());

  expect(await server.command("token", "revoke", "ci")).toMatchObject({ exitCode: 0, stdout: "" });
  const json = (await server.command("token", "list", "--json")).stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(json).toMatchObject([
    { name: "first", state: "in force", expires: null, revoked: null, lastUsed: null },
    { name: "ci", state: "revoked", expires: expect.any(String), revoked: expect.any(String) },
  ]);
  expect(await server.command("token", "revoke", "ci")).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('no token named "ci"'),
  });
  expect((await server.command("token", "create", "--name", "ci")).exitCode).toBe(0);
});

test("a token that could not be printed is revoked, and its name is free again", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await createStore(database);
  const shell = Bun.spawn(
    ["sh", "-c", `${plantstore} token create --name ci --database ${database} >/dev/full`],
    { stderr: "pipe" },
  );
  expect(await shell.stderr.text()).toBe(
    "plantstore: the token could not be printed (ENOSPC), and is revoked; issue another\n",
  );
  expect(await shell.exited).toBe(1);
  expect((await run(["token", "create", "--name", "ci", "--database", database])).exitCode).toBe(0);
});

test.each(["get 1", "stats", "check", "token list", "index list", "config"])(
  "%s to a disk that is full is an error in one line",
  async (command) => {
    using folder = new TemporaryFolder();
    const database = `sqlite:${folder.file("plants.db")}`;
    writeFileSync(folder.file("plants.ndjson"), `${plantJson(1n, "Monstera")}\n`);
    await createStore(database);
    await run(["import", folder.file("plants.ndjson"), "--quiet", "--database", database]);
    const shell = Bun.spawn(["sh", "-c", `${plantstore} ${command} --database ${database} >/dev/full`], {
      stderr: "pipe",
    });
    expect(await shell.stderr.text()).toBe(
      "plantstore: standard output could not be written (ENOSPC); make room for it, and try again\n",
    );
    expect(await shell.exited).toBe(1);
  },
);

test("the variable of a flag without an argument says on or off", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await createStore(database);
  await run(["token", "create", "--name", "ci", "--database", database]);
  const list = (value: string) => run(["token", "list", "--database", database], { PLANTSTORE_JSON: value });
  for (const value of ["", "false", "0", "off"]) expect((await list(value)).stdout).toStartWith("NAME");
  for (const value of ["true", "1", "on"]) expect((await list(value)).stdout).toStartWith("{");
  expect(await list("perhaps")).toMatchObject({
    exitCode: 2,
    stderr: 'plantstore: PLANTSTORE_JSON says "perhaps": It must be on or off.\n',
  });
});

test("only the hash of a token is in the store", async () => {
  using folder = new TemporaryFolder();
  const server = await newServer(folder);
  const token = await server.createToken("ci");
  await server.stop();
  const file = Buffer.from(await Bun.file(folder.file("plants.db")).arrayBuffer());
  expect(file.includes("ci")).toBe(true);
  expect(file.includes(token)).toBe(false);
  expect(file.includes(token.slice("pst_".length))).toBe(false);
});

test("a token may be issued before the first start, which then shows none", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  await createStore(database);
  const { stdout } = await run(["token", "create", "--name", "provisioned", "--database", database]);
  await using server = await RunningServer.start({ database });
  expect((await post({ url: server.url, token: stdout.trim() }, plantJson(1n, "Monstera"))).status).toBe(200);
  expect((await server.stop()).stdout).not.toContain("pst_");
});

const usageErrors: readonly [args: string[], message: string][] = [
  [["serv"], "unknown command 'serv' (Did you mean serve?)"],
  [["serve", "--prot", "1"], "unknown option '--prot' (Did you mean --port?)"],
  [["serve", "--port", "70000"], "It must be a whole number from 0 to 65535."],
  [["serve", "--port", ""], "It must be a whole number from 0 to 65535."],
  [["serve", "--base-path", "v1"], "It must be a path such as /v1"],
  [["serve", "--cors", "docs.example"], "It must be *, off, or origins"],
  [["serve", "--public-url", "plants.example"], "It must be an address such as"],
  [["serve", "--admin-host", "0.0.0.0"], "where the console needs a password"],
  [["serve", "--database", "postgres://a@b/c?sslmode=maybe"], 'sslmode is "maybe", but must be one of'],
  [["serve", "--database", "postgres://a@b/c?pool=3"], "it has no parameter pool; there are sslmode"],
  [["serve", "--database", "postgres://a@b:x/c"], "its host 1 is not NAME or NAME:PORT"],
  [["serve", "--database", "postgres://a@b,c:99999/c"], "its host 2 has no port from 1 to 65535"],
  [["serve", "--database", "postgres://a%zz@b/c"], "its user is not percent-encoded text"],
  [["token", "create", "--name", "two\nlines"], "It must be one line of text, without control characters."],
  [["token", "create", "--name", "x", "--expires", "2099-02-30"], "It must be never, or lie ahead"],
  [["token", "create", "--name", "x", "--expires", "999999w"], "It must be never, or lie ahead"],
  [["serve", "--database", "mongodb://x"], "must be sqlite:FILE or postgres:"],
  [["token", "rotate"], "missing required argument 'name'"],
  [["token", "rotate", "x", "--overlap", "1 day"], "It must be a span of time such as 7d, 12h or 0s."],
  [["token", "rotate", "x", "--overlap", "2099-01-31"], "It must be a span of time"],
  [["token", "rotate", "x", "--overlap", "999999w"], "It must be a span of time"],
  [["token", "rotate", "x", "--expires", "2001-01-01"], "It must be never, or lie ahead"],
  [["import", "x", "--delimiter", ",,"], "It must be comma, semicolon, tab, or one ASCII character"],
  [["import", "x", "--delimiter", "1"], "It must be comma, semicolon, tab, or one ASCII character"],
  [["export", "--delimiter", '"'], "It must be comma, semicolon, tab, or one ASCII character"],
  [["export", "--delimiter", "é"], "It must be comma, semicolon, tab, or one ASCII character"],
  [["export", "--delimiter", ""], "It must be comma, semicolon, tab, or one ASCII character"],
  [["get"], "missing required argument 'id'"],
  [["get", "1.5"], 'the id "1.5" is no integer of 64 bits'],
  [["get", "9223372036854775808"], "is no integer of 64 bits"],
  [["export", "extra"], "too many arguments"],
  [["token", "create"], "--name is missing; give it, or set PLANTSTORE_TOKEN_NAME"],
  [
    ["token", "create", "--name", "x", "--expires", "yesterday"],
    "It must be never, or lie ahead and be such as 90d",
  ],
  [["token", "create", "--name", "x", "--expires", "2001-01-01"], "It must be never, or lie ahead"],
];
test.each(usageErrors)("%j is a usage error: exit code 2 and one line", async (args, message) => {
  const { exitCode, stdout, stderr } = await run(args);
  expect(exitCode).toBe(2);
  expect(stdout).toBe("");
  expect(stderr).toContain(message);
  expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
});

test("what cannot be done is exit code 1 and one line that says what to do", async () => {
  using folder = new TemporaryFolder();
  writeFileSync(folder.file("text.db"), "this is no database ".repeat(100));
  const none = `sqlite:${folder.file("none.db")}`;
  for (const args of [
    ["get", "1", "--database", none],
    ["export", "--database", none],
    ["token", "list", "--database", none],
    ["token", "revoke", "x", "--database", none],
    ["token", "rotate", "x", "--database", none],
    ["serve", "--database", `sqlite:${folder.file("no/folder/plants.db")}`],
    ["serve", "--database", `sqlite:${folder.file("text.db")}`],
    ["serve", "--database", `sqlite:${folder.path}`],
    [
      "serve",
      "--admin-port",
      "off",
      "--host",
      "192.0.2.1",
      "--database",
      `sqlite:${folder.file("plants.db")}`,
    ],
  ]) {
    const { exitCode, stdout, stderr } = await run(args);
    expect({ args, exitCode, stdout }).toEqual({ args, exitCode: 1, stdout: "" });
    expect(stderr).toMatch(/^plantstore: [^\n]+\n$/);
  }
  expect(existsSync(folder.file("none.db"))).toBe(false);
});

test("a port that is taken is an error in one line, and the first token is not lost with it", async () => {
  using folder = new TemporaryFolder();
  await using holder = await newServer(folder);
  using other = new TemporaryFolder();
  const database = `sqlite:${other.file("plants.db")}`;
  const { exitCode, stderr } = await run([
    "serve",
    "--admin-port",
    "off",
    "--port",
    new URL(holder.url).port,
    "--database",
    database,
  ]);
  expect(exitCode).toBe(1);
  expect(stderr).toMatch(
    /^plantstore: cannot listen on 127\.0\.0\.1:\d+ \(EADDRINUSE\); free it, or choose another with --port\n$/,
  );
  const next = await RunningServer.start({ database });
  expect((await next.stop()).stdout).toContain("pst_");
});

test("--help says what a person needs, and exits with 0", async () => {
  for (const args of [
    ["--help"],
    ["serve", "--help"],
    ["token", "--help"],
    ["token", "create", "--help"],
    ["token", "rotate", "--help"],
    ["get", "--help"],
  ]) {
    const { exitCode, stdout, stderr } = await run(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
    expect(stdout).toStartWith(`Usage: plantstore`);
  }
  expect((await run(["serve", "--help"])).stdout).toContain("PLANTSTORE_BASE_PATH");
});

test("the command works through links, from any folder", async () => {
  using folder = new TemporaryFolder();
  mkdirSync(folder.file("bin"));
  symlinkSync(plantstore, folder.file("bin/first"));
  symlinkSync("first", folder.file("bin/second"));
  const child = Bun.spawn([folder.file("bin/second"), "--version"], { cwd: folder.path, stdout: "pipe" });
  expect(await child.stdout.text()).toMatch(/^\d+\.\d+\.\d+\n$/);
});
