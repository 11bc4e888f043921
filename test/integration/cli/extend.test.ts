// --extend: the operations of a module are served, described, checked, logged and counted as ours are.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";

const contract = `
openapi: 3.1.0
info: { title: Parcel Store, version: 1.0.0 }
security: [{ bearer: [] }]
paths:
  /parcels:
    post:
      requestBody:
        required: true
        content: { application/json: { schema: { $ref: "#/components/schemas/Parcel" } } }
      responses:
        "201":
          description: Stored.
          content: { application/json: { schema: { $ref: "#/components/schemas/Parcel" } } }
  /parcels/{parcelId}/label:
    get:
      operationId: labelOfAuthor
      responses: { "200": { description: The label that the author describes. } }
components:
  securitySchemes:
    bearer: { type: http, scheme: bearer }
  schemas:
    Parcel:
      type: object
      required: [id, sender]
      properties:
        id: { type: string, format: uuid }
        sender: { type: string, maxLength: 100 }
        price: { type: number, multipleOf: 0.01 }
`;

const operations = `
import { ApiError, boolean, defineOperation, plantId, text } from "plantstore";

export default ({ collections: [parcels] }) => [
  defineOperation({
    operationId: "sumOf",
    method: "GET",
    path: "/parcels/sum",
    summary: "Sum the prices of a sender",
    parameters: { sender: text("The sender.", 5), loud: boolean("Whether in capitals.") },
    responses: { 200: { description: "The sum.", returns: { type: "object" } } },
    async handle({ parameters: { sender, loud }, store: { read } }) {
      if (sender === "Eve") return new ApiError("invalidParameter", "Eve sends nothing.");
      const [{ cents }] = await read.query(
        "SELECT sum(CAST(replace(price, '.', '') AS bigint)) AS cents FROM parcels WHERE sender = $1",
        [sender],
      );
      return { [loud ? "SUM" : "sum"]: Number(cents) / 100 };
    },
  }),
  defineOperation({
    operationId: "labelOf",
    method: "GET",
    path: "/parcels/{id}/label",
    summary: "The label",
    parameters: { id: plantId(parcels, "The id.") },
    responses: { 200: { description: "The label.", returns: { type: "object" } } },
    handle: async ({ parameters: { id } }) => ({ status: 200, json: { label: "parcel " + id } }),
  }),
];
`;

const id = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6";

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());
writeFileSync(folder.file("parcels.yaml"), contract);
writeFileSync(folder.file("operations.ts"), operations);
const args = ["--contract", folder.file("parcels.yaml"), "--extend", folder.file("operations.ts")];

function requests(url: string, token: string) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return {
    create: (body: string) => fetch(`${url}/parcels`, { method: "POST", headers, body }),
    get: async (path: string) => {
      const response = await fetch(url + path, { headers });
      return { status: response.status, text: await response.text() };
    },
  };
}

describe("plantstore serve --extend", () => {
  const resources = new AsyncDisposableStack();
  let server: RunningServer;
  let token: string;
  let get: ReturnType<typeof requests>["get"];

  beforeAll(async () => {
    server = resources.use(await RunningServer.startInProcess({ args }));
    token = await server.createToken();
    const client = requests(server.url, token);
    get = client.get;
    const other = id.replace(/6$/, "7");
    await client.create(`{"id":"${id}","sender":"Ada","price":0.1}`);
    await client.create(`{"id":"${other}","sender":"Ada","price":0.2}`);
  });
  afterAll(() => resources.disposeAsync());

  test("its operations take a text, a boolean and the contract's own id, and sum decimals by SQL", async () => {
    expect(await get("/parcels/sum?sender=Ada&loud=true")).toEqual({ status: 200, text: '{"SUM":0.3}' });
    expect(await get(`/parcels/${id}/label`)).toEqual({ status: 200, text: `{"label":"parcel ${id}"}` });
    const { status, text } = await get("/parcels/sum?sender=Beatrice&loud=1");
    expect(status).toBe(400);
    expect(text).toContain('\\"sender\\" must be a text of 1 to 5 characters, but is \\"Beatrice\\"');
    expect(text).toContain('\\"loud\\" must be true or false, but is \\"1\\"');
    expect((await get("/parcels/7/label")).status).toBe(400);
  });

  test("its own errors are the contract's", async () => {
    expect(await get("/parcels/sum?sender=Eve&loud=true")).toMatchObject({
      status: 400,
      text: expect.stringContaining("Eve sends nothing."),
    });
  });

  test.each([undefined, "Bearer wrong"])("a request with the credentials %p is rejected", async (value) => {
    const headers: Record<string, string> = value === undefined ? {} : { Authorization: value };
    const response = await fetch(`${server.url}/parcels/${id}/label`, { headers });
    expect(response.status).toBe(401);
  });

  test("they are in the description, also in place of one that is not served", async () => {
    const { paths } = JSON.parse((await get("/openapi.json")).text);
    expect(paths["/parcels/sum"].get).toMatchObject({ operationId: "sumOf" });
    expect(Object.keys(paths["/parcels/{parcelId}/label"].get.responses)).not.toContain("501");
  });

  test("the console, the metrics and the log have them", async () => {
    const adminUrl = await server.adminUrl();
    expect((await fetch(`${adminUrl}/console/`)).status).toBe(200);
    await get("/parcels/sum?sender=Ada&loud=false");
    const metrics = await (await fetch(`${adminUrl}/metrics`)).text();
    expect(metrics).toContain('plantstore_request_duration_seconds_count{operation="sumOf"}');
    const line = await server.logged((line) => /is not served|parcels\/sum/.test(JSON.stringify(line)));
    expect(JSON.stringify(line)).toContain("/parcels/sum");
  });
});

describe("beside a create that needs no token", () => {
  const open = contract.replace("    post:\n", "    post:\n      security: []\n");
  const withKey = open
    .replace("operationId: labelOfAuthor", "operationId: labelOfAuthor\n      security: [{ key: [] }]")
    .replace("    bearer: {", "    key: { type: apiKey, in: header, name: X-Key }\n    bearer: {");
  const write = (text: string, module = operations) => {
    // A name of its own: a process loads a module once.
    const file = folder.file(`${crypto.randomUUID()}.ts`);
    writeFileSync(folder.file("open.yaml"), text);
    writeFileSync(file, module);
    return ["--contract", folder.file("open.yaml"), "--extend", file];
  };

  test("an operation takes the credentials that are described for it, or else for all", async () => {
    await using server = await RunningServer.startInProcess({ args: [...write(withKey), "--open"] });
    const token = await server.createToken();
    const statusOf = async (path: string, headers: Record<string, string> = {}) =>
      (await fetch(server.url + path, { headers })).status;
    const bearer = { Authorization: `Bearer ${token}` };
    for (const path of ["/parcels/sum?sender=Ada&loud=true", `/parcels/${id}/label`]) {
      expect(await statusOf(path)).toBe(401);
      expect(await statusOf(path, { Authorization: "Bearer wrong", "X-Key": "wrong" })).toBe(401);
    }
    expect(await statusOf("/parcels/sum?sender=Ada&loud=true", bearer)).toBe(200);
    expect(await statusOf(`/parcels/${id}/label`, bearer)).toBe(401);
    expect(await statusOf(`/parcels/${id}/label`, { "X-Key": token })).toBe(200);
  });

  test("one that needs no token is served only as those of the contract are", async () => {
    const access = "access: { bearer: false, keyHeader: undefined, isOpen: true },";
    const module = operations.replace('operationId: "sumOf",', `operationId: "sumOf", ${access}`);
    const given = [...write(contract, module), "--port", "0", "--admin-port", "off"];
    const refused = (...more: string[]) => runCommand(["serve", ...given, ...more], { TMPDIR: folder.path });
    for (const more of [[], ["--open", "--host", "0.0.0.0"]]) {
      const database = `sqlite:${folder.file("refused.db")}`;
      const { exitCode, stderr } = await refused("--database", database, ...more);
      expect({ exitCode, stderr }).toEqual({
        exitCode: 2,
        stderr: expect.stringContaining("operation sumOf needs no token"),
      });
    }
    await using server = await RunningServer.startInProcess({ args: [...write(contract, module), "--open"] });
    const path = `${server.url}/parcels/sum?sender=Ada&loud=true`;
    expect((await fetch(path)).status).toBe(200);
    expect((await fetch(path, { headers: { Origin: "https://evil.example" } })).status).toBe(403);
  });
});

test("plantstore sandbox --extend", async () => {
  await using sandbox = await RunningSandbox.startInProcess({ args });
  const { create, get } = requests(sandbox.url, sandbox.token);
  await create(`{"id":"${id}","sender":"Ada","price":19.9}`);
  expect(await get("/parcels/sum?sender=Ada&loud=false")).toEqual({ status: 200, text: '{"sum":19.9}' });
  expect(sandbox.lines.join("\n")).not.toContain("is not served");
});

test.each([
  ["export default 1;", "its default export is no list of operations"],
  ["export default [{}];", "its default export is no list of operations"],
  ["export default () => { throw new Error('no such field'); };", "cannot be loaded: Error: no such field"],
  ["export default [", "cannot be loaded"],
  [undefined, "cannot be loaded"],
  [
    operations.replace("/parcels/sum", "/parcels/{name}/label"),
    "labelOf (GET /parcels/{id}/label) has the name or the path of the operation sumOf",
  ],
  [
    operations.replace('"labelOf"', '"sumOf"'),
    "sumOf (GET /parcels/{id}/label) has the name or the path of the operation sumOf",
  ],
])("a module that cannot be used is named in one sentence: %#", async (text, expected) => {
  using own = new TemporaryFolder();
  const file = own.file("operations.ts");
  if (text !== undefined) writeFileSync(file, text);
  const given = [
    "--contract",
    folder.file("parcels.yaml"),
    "--extend",
    file,
    "--port",
    "0",
    "--admin-port",
    "0",
  ];
  const { exitCode, stderr } = await runCommand(["sandbox", ...given]);
  expect({ exitCode, lines: stderr.trimEnd().split("\n").length }).toEqual({ exitCode: 2, lines: 2 });
  expect(stderr).toContain(expected);
});
