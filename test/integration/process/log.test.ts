// The log of a server: what must never be in it, and readers that are slow or gone.

import { expect, test } from "bun:test";
import packageJson from "../../../package.json";
import { jsonOf, objectOf, thingsDocument } from "../../support/descriptions.ts";
import { plantJson, post, send } from "../../support/http.ts";
import { logLines, Output } from "../../support/output.ts";
import { programPath } from "../../support/programs.ts";
import { plantstore, RunningServer, TemporaryFolder } from "../../support/server.ts";

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

const restricted = {
  mail: { type: "string", format: "email", writeOnly: true },
  kind: { type: "string", enum: ["tree", "herb"] },
  code: { type: "string", pattern: "^[0-9]+$" },
  day: { type: "string", format: "date" },
  data: { type: "object", additionalProperties: { type: "integer" } },
};

test.each(["json", "pretty"])(
  "neither a token nor a plant's name or tag is in the log as %s",
  async (format) => {
    const args = ["--access-log", "1000", "--log-format", format];
    await using server = await RunningServer.startInProcess({ args });
    const target = await server.target();
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
    expect(stderr).not.toContain(target.token.slice("pst_".length));
  },
);

test("no value of a body or a query is in the log, whatever the contract restricts", async () => {
  const secret = "TheSecretGarden";
  using folder = new TemporaryFolder();
  const contract = folder.file("things.json");
  const item = { requestBody: jsonOf(objectOf(restricted)), responses: { 200: { description: "ok" } } };
  const list = {
    parameters: [{ name: "limit", in: "query", schema: { type: "integer", maximum: 10, default: 10 } }],
    responses: { 200: { description: "ok", ...jsonOf({ type: "array", items: objectOf(restricted) }) } },
  };
  const document = thingsDocument({
    body: { ...objectOf({ id: { type: "integer" }, ...restricted }, ["id"]), additionalProperties: false },
    item: {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "integer" } }],
      put: item,
    },
    collection: { get: list },
    more: {
      components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
      security: [{ token: [] }],
    },
  });
  await Bun.write(contract, JSON.stringify(document));
  await using server = await RunningServer.startInProcess({
    args: ["--access-log", "1000", "--contract", contract],
  });
  const { url, token } = await server.target();
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const refused = async (path: string, method: string, body?: object) => {
    const response = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
    expect([response.status, (await response.text()).includes(secret)]).toEqual([400, method !== "PUT"]);
  };
  await refused("/things", "POST", { id: 1, mail: secret });
  await refused("/things", "POST", { id: 1, kind: secret });
  await refused("/things", "POST", { id: 1, code: secret });
  await refused("/things", "POST", { id: 1, day: secret });
  await refused("/things", "POST", { id: 1, data: { [secret]: true } });
  await refused("/things", "POST", { id: 1, [secret]: true });
  await refused("/things/1", "PUT", { mail: secret });
  await refused(`/things?limit=${secret}`, "GET");
  const { stderr } = await server.stop();
  expect(stderr).toContain('\\"mail\\" must be');
  expect(stderr).not.toContain(secret);
});

test("--log-format pretty is readable", async () => {
  const args = ["--log-format", "pretty", "--bootstrap-token", "off"];
  await using server = await RunningServer.startInProcess({ args });
  await post({ url: server.url, token: await server.createToken("ci") }, plantJson(1n, "Monstera"));
  const { stderr } = await server.stop();
  expect(stderr.trimEnd().split("\n")).toEqual(
    [
      `starting version=\\S+ settings="--port 0 [^"]+"`,
      `the admin listener is open url=http://127.0.0.1:\\d+`,
      `the public listener is open url=${server.url}`,
      `POST /plants 200 created [\\d.]+ ms token=ci`,
      `shutting down, draining requests signal=SIGTERM`,
      `stopped`,
    ].map((line) => expect.stringMatching(new RegExp(`^\\d\\d:\\d\\d:\\d\\d ${line}$`))),
  );
});

test("with its log on a full disk a server serves, and stops at the first signal", async () => {
  await using server = await RunningServer.start({
    under: ["sh", "-c", 'exec "$@" 2>/dev/full', "sh"],
    args: ["--access-log", "1000"],
  });
  const target = await server.target();
  for (let id = 1n; id <= 20n; id++) expect((await post(target, plantJson(id, "Monstera"))).status).toBe(200);
  const { exitCode } = await server.stop();
  expect(exitCode).toBe(0);
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
