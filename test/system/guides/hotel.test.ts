// A hotel from an empty folder, with the packed package: its contract, two operations and a booking in
// a transaction, guests of a spreadsheet, a contract that changes while it is served, tests in Node and
// pytest, the conformance kit, and the move to PostgreSQL.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { contractFile } from "../../support/contract-sandbox.ts";
import { eventually } from "../../support/eventually.ts";
import { BackgroundScript, runScriptOrThrow } from "../../support/guide.ts";
import { writeHotelOperations } from "../../support/hotel.ts";
import { packServer } from "../../support/npm-packages.ts";
import { reservePort } from "../../support/ports.ts";
import { sharedPostgres } from "../../support/postgres.ts";
import { testIfInstalled } from "../../support/programs.ts";
import { TemporaryFolder } from "../../support/server.ts";

const stepMsMax = 300_000;

const resources = new AsyncDisposableStack();
const folder = resources.use(new TemporaryFolder());
const run = (command: string) =>
  runScriptOrThrow(`PATH=$PWD/node_modules/.bin:$PATH\n${command}`, folder.path);
const port = reservePort();
const url = `http://127.0.0.1:${port}/api/v1`;
let service: BackgroundScript;
let token: string;

async function serve(database: string, flags = "") {
  const server = new BackgroundScript(
    `exec node_modules/.bin/plantstore serve --database '${database}' --extend operations.ts --port ${port} --admin-port off ${flags}`,
    folder.path,
  );
  await server.listens(port);
  return server;
}

async function send<Json = Readonly<Record<string, unknown>>>(method: string, path: string, body?: object) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const init = { method, headers, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(url + path, init);
  return { status: response.status, json: (await response.json()) as Json };
}

beforeAll(async () => {
  copyFileSync(await packServer(folder), folder.file("plantstore.tgz"));
  await run("npm init --yes >/dev/null && npm install --silent ./plantstore.tgz");
  copyFileSync(contractFile("hotel.yaml"), folder.file("hotel.yaml"));
  writeHotelOperations(folder.path);
  await run("plantstore migrate --contract hotel.yaml --database sqlite:hotel.db");
  token = (await run("plantstore token create --name walk --database sqlite:hotel.db")).trim();
  service = await serve("sqlite:hotel.db", "--contract hotel.yaml --watch");
}, stepMsMax);
afterAll(async () => {
  await service?.[Symbol.asyncDispose]();
  await resources.disposeAsync();
});

let roomId: unknown;

/** Has 20 clients book the room for the same nights, of whom one succeeds. */
async function bookAtOnce(from: string, to: string) {
  const booking = { room_id: roomId, guest_id: crypto.randomUUID(), status: "confirmed", from, to };
  const all = await Promise.all(Array.from({ length: 20 }, () => send("POST", "/bookings", booking)));
  const statuses = all.map(({ status }) => status).toSorted();
  expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
  return all;
}

test("of 20 clients one books the room of a night, and cancels once", async () => {
  const price = { amount: 80, currency: "EUR" };
  const room = await send("POST", "/rooms", { number: "101", kind: "double", price });
  expect(room.status).toBe(201);
  roomId = room.json.id;
  const all = await bookAtOnce("2027-01-01", "2027-01-03");
  const id = all.find(({ status }) => status === 201)?.json.id;
  const occupancy = () => send<unknown>("GET", "/reports/occupancy?from=2027-01-01&to=2027-01-05");
  expect((await occupancy()).json).toEqual([{ room_id: roomId, nights: 2, share: 0.5 }]);
  expect(await send("POST", `/bookings/${id}/cancel`, { reason: "ill" })).toMatchObject({
    status: 200,
    json: { status: "cancelled", note: "ill" },
  });
  expect((await send("POST", `/bookings/${id}/cancel`)).status).toBe(409);
  expect((await occupancy()).json).toEqual([]);
  expect((await send("GET", "/reports/occupancy?from=hello&to=2027-01-05")).status).toBe(400);
});

test("500 guests of a spreadsheet are imported with their addresses, and exported as they came", async () => {
  const guests = Array.from(
    { length: 500 },
    (_, index) => `Guest ${index},g${index}@example.org,Oslo ${index},NO`,
  );
  writeFileSync(folder.file("guests.csv"), `name,email,address.city,address.country\n${guests.join("\n")}\n`);
  const command = "plantstore import guests.csv --collection guests --database sqlite:hotel.db 2>&1";
  expect(await run(command)).toContain("500 created");
  const { json } = await send<{ readonly items: object[] }>("GET", "/guests?email=g7@example.org");
  expect(json.items).toMatchObject([{ name: "Guest 7", address: { city: "Oslo 7", country: "NO" } }]);
  const exported = await run("plantstore export --collection guests --format csv --database sqlite:hotel.db");
  const [header, ...lines] = exported.trimEnd().split("\n");
  expect(header).toContain(",address.street,address.city,address.country,");
  expect(lines).toHaveLength(500);
  expect(lines.filter((line) => /,,Oslo \d+,NO,,/.test(line))).toHaveLength(500);
});

test("the service takes over a changed contract", async () => {
  const text = readFileSync(folder.file("hotel.yaml"), "utf8");
  const price = "        price: { $ref: '#/components/schemas/Money' }\n";
  expect(text).toContain(price);
  writeFileSync(
    folder.file("hotel.yaml"),
    text.replace(price, `${price}        view: { type: string, enum: [sea, yard] }\n`),
  );
  const room = { number: "102", kind: "single", price: { amount: 60, currency: "EUR" } };
  await eventually("rooms have views", async () => {
    const { json } = await send("POST", "/rooms", { ...room, view: "sea" });
    return json.view === "sea";
  });
  expect((await send("POST", "/rooms", { ...room, view: "moon" })).status).toBe(422);
});

/** Both run against a sandbox of the same contract and operations. */
const flags = ["--contract", "hotel.yaml", "--extend", "operations.ts"];

test(
  "its tests run on Node",
  async () => {
    writeFileSync(
      folder.file("hotel.test.mjs"),
      `import assert from "node:assert";
import { after, test } from "node:test";
import { startSandbox } from "plantstore/sandbox";

const sandbox = await startSandbox({ flags: ${JSON.stringify(flags)} });
after(() => sandbox.close());

test("a booking is cancelled once", async () => {
  const room = await sandbox.collection("rooms").add({
    id: crypto.randomUUID(), number: "1", kind: "single", price: { amount: 1, currency: "EUR" },
  });
  const headers = { Authorization: \`Bearer \${sandbox.token}\`, "Content-Type": "application/json" };
  const post = async (path, body = {}) =>
    fetch(sandbox.url + path, { method: "POST", headers, body: JSON.stringify(body) });
  const dates = { guest_id: room.id, from: "2027-01-01", to: "2027-01-02" };
  const created = await post("/bookings", { room_id: room.id, ...dates });
  assert.equal(created.status, 201);
  const { id } = await created.json();
  assert.deepEqual(
    [(await post(\`/bookings/\${id}/cancel\`)).status, (await post(\`/bookings/\${id}/cancel\`)).status],
    [200, 409],
  );
  assert.equal((await sandbox.collection("bookings").resource(id)).status, "cancelled");
});
`,
    );
    expect(await run("node --test hotel.test.mjs")).toMatch(/pass 1\b/);
  },
  stepMsMax,
);

testIfInstalled("pytest", "its tests run on pytest, with the sandbox of the example", async () => {
  const conftest = await Bun.file(
    new URL("../../../examples/sandbox/pytest/conftest.py", import.meta.url),
  ).text();
  const start = '"plantstore", "sandbox"';
  expect(conftest).toContain(start);
  writeFileSync(
    folder.file("conftest.py"),
    conftest.replace(start, [start, ...flags.map((flag) => JSON.stringify(flag))].join(", ")),
  );
  writeFileSync(
    folder.file("test_hotel.py"),
    `import json
import urllib.request


def test_each_collection_has_its_url(sandbox):
    headers = {"Authorization": f"Bearer {sandbox.token}", "Content-Type": "application/json"}
    guest = json.dumps({"name": "Ada", "email": "ada@example.org"}).encode()
    request = urllib.request.Request(sandbox.collections["guests"], guest, headers)
    created = json.load(urllib.request.urlopen(request))
    stored = json.load(urllib.request.urlopen(f"{sandbox.controlUrl}/guests"))["resources"]
    assert [each["id"] for each in stored] == [created["id"]]
`,
  );
  expect(await run("pytest -q test_hotel.py")).toContain("1 passed");
});

test(
  "the kit checks all of it, and finds nothing",
  async () => {
    const command = `plantstore conformance --contract hotel.yaml --url http://127.0.0.1:${port} --token ${token} --strict`;
    const report = await run(command);
    expect(report).toMatch(/In all (\d+) of \1 rules hold, 0 do not/);
    expect(report).not.toContain("not checked:");
  },
  stepMsMax,
);

test(
  "it moves to PostgreSQL with the times of creation",
  async () => {
    const postgres = resources.use(await sharedPostgres());
    const { address } = await postgres.newDatabase();
    const before = await send("GET", `/guests?pageSize=200`);
    await service[Symbol.asyncDispose]();
    await run(`plantstore migrate --contract hotel.yaml --database '${address}'`);
    await run(`plantstore export --all moved --with-creation --database sqlite:hotel.db 2>&1`);
    await run(`plantstore import --all moved --with-creation --database '${address}' 2>&1`);
    token = (await run(`plantstore token create --name walk --database '${address}'`)).trim();
    service = await serve(address);
    expect(await send("GET", `/guests?pageSize=200`)).toEqual(before);
    await bookAtOnce("2027-02-01", "2027-02-02");
  },
  stepMsMax,
);
