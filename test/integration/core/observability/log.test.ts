// The log: its lines, their fields, and what must never be in it.

import { expect, test } from "bun:test";
import packageJson from "../../../../package.json";
import { Log } from "../../../../src/core/observability/log.ts";
import { freshId, plantJson, post, send } from "../../../support/http.ts";
import { type LogLine, logLines, Output } from "../../../support/output.ts";
import { programPath } from "../../../support/programs.ts";
import { plantstore, RunningServer, TemporaryFolder } from "../../../support/server.ts";

async function serverWith(...args: string[]): Promise<RunningServer> {
  return RunningServer.startInProcess({ args });
}

const isAccess = ({ requestId }: LogLine) => requestId !== undefined;

test("a request has a line with its id, its token's name, its status and its error", async () => {
  await using server = await serverWith();
  const target = { url: server.url, token: await server.createToken("ci") };
  const answers = [
    await post(target, plantJson(1n, "Monstera")),
    await post(target, plantJson(1n, "Ficus")),
    await post(target, "{}", { Authorization: "" }),
  ];
  const lines = logLines((await server.stop()).stderr).filter(isAccess);
  const common = { level: "info", path: "/plants", method: "POST", ms: expect.any(Number) };
  expect(lines).toMatchObject([
    { ...common, token: "ci", status: 200, result: "created" },
    {
      ...common,
      token: "ci",
      status: 400,
      error: 40009,
      message: expect.stringMatching(/^The id 1 already/),
    },
    { ...common, status: 401, error: 40100 },
  ]);
  expect(lines.map(({ requestId }) => requestId)).toEqual(
    answers.map(({ headers }) => headers.get("x-request-id")),
  );
  for (const { time } of lines) expect(Date.parse(String(time))).toBeGreaterThan(Date.now() - 600_000);
});

test("with its log on a full disk a server serves, and stops at the first signal", async () => {
  await using server = await RunningServer.start({
    under: ["sh", "-c", 'exec "$@" 2>/dev/full', "sh"],
    args: ["--access-log", "1000"],
  });
  const target = await server.target();
  for (let index = 0; index < 20; index++)
    expect((await post(target, plantJson(freshId(), "Monstera"))).status).toBe(200);
  const { exitCode } = await server.stop();
  expect(exitCode).toBe(0);
});

test("SIGHUP ends a server as SIGTERM does, unless nohup has said that it is to be ignored", async () => {
  await using server = await serverWith();
  const { exitCode, stderr } = await server.stop("SIGHUP");
  expect(exitCode).toBe(0);
  expect(logLines(stderr).slice(-2)).toMatchObject([
    { msg: "shutting down, draining requests", signal: "SIGHUP" },
    { msg: "stopped" },
  ]);

  await using kept = await RunningServer.start({
    under: ["sh", "-c", 'trap "" HUP; exec "$@"', "sh"],
  });
  process.kill(kept.pid, "SIGHUP");
  await Bun.sleep(200);
  expect((await send(`${await kept.adminUrl()}/console/api/session`)).status).toBe(200);
});

test("the first line has the settings that differ from the defaults, and their sources", async () => {
  const env = { PLANTSTORE_ACCESS_LOG: "7", PLANTSTORE_LOG_LEVEL: "info" };
  await using server = await RunningServer.startInProcess({ env });
  const [line] = logLines((await server.stop()).stderr);
  expect(line).toMatchObject({
    msg: "starting",
    version: packageJson.version,
    settings: `--port 0 (flag), --admin-port 0 (flag), --database ${server.database} (flag), --access-log 7 (environment)`,
  });
});

test("an error that repeats is logged once in ten seconds, with the number of the others", () => {
  let now = 0;
  let text = "";
  const stream = { write: (lines: string) => (text += lines) };
  const output = { stream, end: () => Promise.resolve(true) };
  const options = { format: "json", colours: false, level: "info", accessLinesPerSecond: 0 } as const;
  const log = new Log({ ...options, now: () => now, output });
  for (now = 0; now <= 20_000; now += 100)
    log.handle({ kind: "internalError", requestId: `a-${now}`, error: new Error("x") });
  expect(logLines(text).map(({ requestId, suppressed }) => [requestId, suppressed])).toEqual([
    ["a-0", undefined],
    ["a-10000", 99],
    ["a-20000", 99],
  ]);
});

test.each(["json", "pretty"])(
  "neither a token nor a plant's name or tag is in the log as %s",
  async (format) => {
    await using server = await serverWith("--access-log", "1000", "--log-format", format);
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
    expect(stderr.match(/\b(?:POST|GET) \/plants \d/g)).toHaveLength(bodies.length + 2);
    expect(stderr).not.toContain(secret);
    expect(stderr).not.toContain(token.slice("pst_".length));
  },
);

test("requests past the limit of lines a second are counted and not logged", async () => {
  await using server = await serverWith("--access-log", "2");
  const target = await server.target();
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
  await using server = await serverWith("--admin-port", "off", flag, value);
  await post(await server.target(), plantJson(1n, "Monstera"));
  expect(logLines((await server.stop()).stderr).filter(isAccess)).toEqual([]);
});

test("--log-format pretty is readable, and has the settings that differ from the defaults on one line", async () => {
  const off = ["--docs", "off", "--bootstrap-token", "off"];
  await using server = await serverWith("--log-format", "pretty", "--log-level", "info", ...off);
  await post({ url: server.url, token: await server.createToken("ci") }, plantJson(1n, "Monstera"));
  await send(`${server.url}/openapi.json`);
  const { stderr } = await server.stop();
  const lines = stderr.trimEnd().split("\n");
  const time = String.raw`\d\d:\d\d:\d\d`;
  const settings = `--docs off (flag), --admin-port 0 (flag), --database ${server.database} (flag), --bootstrap-token off (flag), --log-format pretty (flag)`;
  expect(lines).toEqual([
    expect.stringMatching(new RegExp(`^${time} starting version=\\S+ settings="--port 0 [^"]+"$`)),
    expect.stringMatching(new RegExp(`^${time} the admin listener is open url=http://127.0.0.1:\\d+$`)),
    expect.stringMatching(new RegExp(`^${time} the public listener is open url=${server.url}$`)),
    expect.stringMatching(new RegExp(`^${time} POST /plants 200 created [\\d.]+ ms token=ci$`)),
    expect.stringMatching(new RegExp(`^${time} shutting down, draining requests signal=SIGTERM$`)),
    expect.stringMatching(new RegExp(`^${time} stopped$`)),
  ]);
  for (const setting of settings.split(", ")) expect(lines[0]).toContain(setting);
  expect(lines[0]).not.toContain("--log-level");
  expect(stderr).not.toContain("\x1b");
});

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
  for (let id = 1n; id <= 600n; id++)
    expect((await post(target, plantJson(id, "Monstera"))).status).toBe(200);
  shell.kill();
  expect(await shell.exited).toBe(0);
});
