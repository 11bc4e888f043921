// The log: its lines, their fields, and what must never be in it.

import { expect, test } from "bun:test";
import packageJson from "../../../package.json";
import { freshId, plantJson, post, send } from "../../support/http.ts";
import { type LogLine, logLines, Output } from "../../support/output.ts";
import { programPath, testIfInstalled } from "../../support/programs.ts";
import { plantstore, RunningServer, TemporaryFolder } from "../../support/server.ts";

async function serverWith(folder: TemporaryFolder, ...args: string[]): Promise<RunningServer> {
  return RunningServer.start({ database: `sqlite:${folder.file("plants.db")}`, args });
}

const isAccess = ({ requestId }: LogLine) => requestId !== undefined;

test("a request has a line with its id, its token's name, its status and its error", async () => {
  using folder = new TemporaryFolder();
  const server = await serverWith(folder);
  const target = { url: server.url, token: await server.createToken("ci") };
  const answers = [
    await post(target, plantJson(1n, "Monstera")),
    await post(target, plantJson(1n, "Ficus")),
    await post(target, "{}", { Authorization: "" }),
    await send(`${server.url}/openapi.json`),
  ];
  const lines = logLines((await server.stop()).stderr).filter(isAccess);
  const common = { level: "info", path: "/plants", method: "POST", ms: expect.any(Number) };
  expect(lines).toMatchObject([
    { ...common, token: "ci", status: 200, result: "created" },
    { ...common, token: "ci", status: 400, error: 40009 },
    { ...common, status: 401, error: 40100 },
    { method: "GET", path: "/openapi.json", status: 200, result: "served" },
  ]);
  expect(lines.map(({ requestId }) => requestId)).toEqual(
    answers.map(({ headers }) => headers.get("x-request-id")),
  );
  for (const { time } of lines) expect(Date.parse(String(time))).toBeGreaterThan(Date.now() - 600_000);
});

test("the first line has the effective settings with their sources, without secrets", async () => {
  using folder = new TemporaryFolder();
  const server = await RunningServer.start({
    database: `sqlite:${folder.file("plants.db")}`,
    env: { PLANTSTORE_ACCESS_LOG: "7" },
  });
  const [line] = logLines((await server.stop()).stderr);
  expect(line).toMatchObject({
    msg: "starting with these settings",
    version: packageJson.version,
    settings: {
      PLANTSTORE_PORT: { value: 0, source: "flag" },
      PLANTSTORE_ACCESS_LOG: { value: 7, source: "environment" },
      PLANTSTORE_LOG_LEVEL: { value: "info", source: "default" },
    },
  });
});

test("neither a token nor the content of a plant is in the log", async () => {
  using folder = new TemporaryFolder();
  const server = await serverWith(folder, "--access-log", "1000");
  const token = await server.createToken("ci");
  const target = { url: server.url, token };
  const secret = "TheSecretGarden";
  const bodies = [
    plantJson(1n, secret, secret),
    plantJson(1n, `${secret} 2`),
    `{"id":1,"name":"${secret}`,
    `{"id":"${secret}","name":7}`,
    `{"id":2,"name":"${secret}\\u0000"}`,
    `{"${secret}":1}`,
  ];
  for (const body of bodies) await post(target, body);
  await post({ url: server.url, token: `pst_${secret}` }, plantJson(1n, "Monstera"));
  await send(`${server.url}/plants?access_token=${secret}`);
  const { stderr } = await server.stop();
  expect(logLines(stderr).filter(isAccess)).toHaveLength(bodies.length + 2);
  expect(stderr).not.toContain(secret);
  expect(stderr).not.toContain(token.slice("pst_".length));
});

test("requests past the limit of lines a second are counted and not logged", async () => {
  using folder = new TemporaryFolder();
  await using server = await serverWith(folder, "--access-log", "2");
  const target = { url: server.url, token: await server.createToken() };
  for (let sent = 0; sent < 50; sent++) await post(target, plantJson(freshId(), "Monstera"));
  const late = server.logged((line) => isAccess(line) && Number(line.suppressed) > 0);
  for (let seen = false; !seen; ) {
    await post(target, plantJson(freshId(), "Monstera"));
    seen = await Promise.race([late.then(() => true), Bun.sleep(100).then(() => false)]);
  }
  const { suppressed } = await late;
  expect(Number(suppressed)).toBeGreaterThanOrEqual(1);
});

test.each([
  ["--access-log", "0"],
  ["--log-level", "warn"],
])("%s %s logs no requests", async (flag, value) => {
  using folder = new TemporaryFolder();
  const server = await serverWith(folder, "--admin-port", "off", flag, value);
  await post({ url: server.url, token: await server.createToken() }, plantJson(1n, "Monstera"));
  expect(logLines((await server.stop()).stderr).filter(isAccess)).toEqual([]);
});

test("--log-format pretty is readable", async () => {
  using folder = new TemporaryFolder();
  const server = await serverWith(folder, "--log-format", "pretty");
  await post({ url: server.url, token: await server.createToken() }, plantJson(1n, "Monstera"));
  const { stderr } = await server.stop();
  expect(stderr).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: starting with these settings \{/);
  expect(stderr).toContain("POST /plants 200");
});

testIfInstalled(
  "script",
  "on a terminal the log is readable by default",
  async () => {
    using folder = new TemporaryFolder();
    const database = `sqlite:${folder.file("plants.db")}`;
    const serve = `${plantstore} serve --port 0 --admin-port off --database ${database}`;
    const child = Bun.spawn([programPath("script"), "-qec", serve, "/dev/null"], {
      stdout: "pipe",
      stderr: "ignore",
    });
    await new Output(child.stdout).until(
      (text) => Bun.stripANSI(text).includes("INFO: the public listener is open") || undefined,
    );
    child.kill();
    await child.exited;
  },
  "bsdutils",
);

test("a reader of the log that ends does not end the server", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  const serve = `echo $$ >&3; exec ${plantstore} serve --port 0 --admin-port off --database ${database}`;
  const shell = Bun.spawn(["sh", "-c", `{ sh -c '${serve}' 2>&1 >&3 | true; } 3>&1`], { stdout: "pipe" });
  const shown = await new Output(shell.stdout).until((text) =>
    text.includes("tropical") ? text : undefined,
  );
  const [pid, url = ""] = shown.split("\n");
  const token = /pst_[\w-]+/.exec(shown)?.[0] ?? "";
  for (let id = 1n; id <= 20n; id++)
    expect((await post({ url, token }, plantJson(id, "Monstera"))).status).toBe(200);
  process.kill(Number(pid));
  await shell.exited;
});

test("a reader of the log that hangs delays neither requests nor the end", async () => {
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("plants.db")}`;
  const fifo = folder.file("log");
  Bun.spawnSync([programPath("mkfifo"), fifo]);
  const serve = `exec ${plantstore} serve --port 0 --admin-port off --access-log 1000000 --database ${database} 2>${fifo}`;
  // Opened for reading and writing, and never read.
  const shell = Bun.spawn(["sh", "-c", `exec 3<>${fifo}; ${serve}`], { stdout: "pipe" });
  const shown = await new Output(shell.stdout).until((text) =>
    text.includes("tropical") ? text : undefined,
  );
  const [url = ""] = shown.split("\n");
  const target = { url, token: /pst_[\w-]+/.exec(shown)?.[0] ?? "" };
  // A pipe holds 64 KiB, and a line is some 150 bytes long.
  for (let id = 1n; id <= 1_000n; id++)
    expect((await post(target, plantJson(id, "Monstera"))).status).toBe(200);
  shell.kill();
  expect(await shell.exited).toBe(0);
});
