// Operations of one's own that a contract describes: what it says of parameters, bodies, errors and
// security holds before they run, and one may stand for a collection's own.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { contractFile } from "../../support/contract-sandbox.ts";
import { contractServer } from "../../support/contract-server.ts";
import { engines } from "../../support/engines.ts";
import { writeHotelOperations } from "../../support/hotel.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { runCommand, TemporaryFolder } from "../../support/server.ts";

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());
const operations = writeHotelOperations(folder.path);

const room = { number: "101", kind: "double", price: { amount: 80.5, currency: "EUR" } };
const guest_id = crypto.randomUUID();
const nobody = crypto.randomUUID();

describe.each(engines.filter(({ name }) => name !== "citus"))("a hotel on $name", (engine) => {
  const hotel = contractServer(engine, "hotel.yaml", { args: ["--extend", operations] });
  let room_id: string;

  const request = (method: string, path: string, body?: object, headers?: Record<string, string>) =>
    hotel.request(method, path, body, headers);
  const book = (from: string, to: string) => request("POST", "/bookings", { room_id, guest_id, from, to });

  beforeAll(async () => {
    const { json } = await request("POST", "/rooms", room);
    ({ id: room_id } = json as { id: string });
  });

  test("a booking is cancelled once", async () => {
    const { status, json } = await book("2027-01-01", "2027-01-03");
    expect({ status, json }).toMatchObject({
      status: 201,
      json: { room_id, status: "requested", created_at: expect.any(String) },
    });
    const path = `/bookings/${(json as { id: string }).id}/cancel`;
    expect(await request("POST", path, { reason: "ill" })).toMatchObject({
      status: 200,
      json: { room_id, status: "cancelled", note: "ill" },
    });
    const again = await request("POST", path);
    expect(again.status).toBe(409);
    expect(again.headers.get("content-type")).toBe("application/problem+json");
    expect(again.json).toMatchObject({ status: 409, detail: "It is cancelled already." });
    expect(await request("POST", `/bookings/${nobody}/cancel`)).toMatchObject({
      status: 404,
      json: { status: 404, detail: "There is no such booking." },
    });
  });

  test.each([
    ["POST", `/bookings/${nobody}/cancel`, { reason: 5 }, 400, "reason"],
    ["POST", `/bookings/${nobody}/cancel`, { reason: "x".repeat(201) }, 400, "reason"],
    ["POST", "/bookings/7/cancel", undefined, 400, "bookingId"],
    ["GET", "/reports/occupancy?from=hello&to=2027-01-01", undefined, 400, "from"],
    ["GET", "/reports/occupancy?from=2027-01-01", undefined, 400, "to is missing"],
    ["POST", "/bookings", { room_id: "7" }, 422, "body"],
  ])("%s %s with %j does not reach the handler", async (method, path, body, status, message) => {
    const answer = await request(method, path, body);
    expect(answer.status).toBe(status);
    expect(answer.headers.get("content-type")).toBe("application/problem+json");
    expect(JSON.stringify(answer.json)).toContain(message);
  });

  test("a body of 50,000 arrays within each other is rejected: JSON.stringify takes seconds to fail on it", async () => {
    const body = `{"room_id":"${nobody}","x":${"[".repeat(50_000)}${"]".repeat(50_000)}}`;
    const { status, text } = await hotel.request("POST", "/bookings", body);
    expect({ status, text }).toEqual({
      status: 422,
      text: expect.stringContaining("500 arrays and objects within each other"),
    });
  });

  test("a request without the described token is rejected", async () => {
    const url = `${hotel.server.url}/reports/occupancy?from=2027-01-01&to=2027-01-02`;
    expect((await fetch(url)).status).toBe(401);
  });

  test("of 20 clients that book one room for a night, one wins, and the report has it", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => book("2027-02-01", "2027-02-02")));
    const statuses = answers.map(({ status }) => status).toSorted();
    expect(statuses).toEqual([201, ...Array.from({ length: 19 }, () => 409)]);
    const { json } = answers.find(({ status }) => status === 201) as { json: { id: string } };
    await request("PATCH", `/bookings/${json.id}`, { status: "confirmed" });
    expect(await request("GET", "/reports/occupancy?from=2027-02-01&to=2027-02-11")).toMatchObject({
      status: 200,
      json: [{ room_id, nights: 1, share: 0.1 }],
    });
  });

  test("the description says what it said, and nothing of 501", async () => {
    const { json } = await request("GET", "/openapi.json");
    const { paths } = json as {
      paths: Record<string, Record<string, { operationId: string; responses: object }>>;
    };
    const { post } = paths["/bookings/{bookingId}/cancel"] ?? {};
    expect(post?.operationId).toBe("cancelBooking");
    expect(Object.keys(post?.responses ?? {})).not.toContain("501");
  });
});

test("a sandbox has them, and the reset of its control", async () => {
  const args = ["--contract", contractFile("hotel.yaml"), "--extend", operations];
  await using sandbox = await RunningSandbox.startInProcess({ args });
  const headers = { Authorization: `Bearer ${sandbox.token}` };
  const response = await fetch(`${sandbox.url}/bookings/${nobody}/cancel`, { method: "POST", headers });
  expect({ status: response.status, json: await response.json() }).toMatchObject({
    status: 404,
    json: { detail: "There is no such booking." },
  });
});

test("a rule of a sandbox is for one operation, or one path", async () => {
  const args = ["--contract", contractFile("hotel.yaml"), "--extend", operations];
  await using sandbox = await RunningSandbox.startInProcess({ args });
  const headers = { Authorization: `Bearer ${sandbox.token}` };
  const statusOf = async (path: string) => (await fetch(sandbox.url + path, { headers })).status;
  const report = "/reports/occupancy?from=2027-01-01&to=2027-01-02";
  const addRule = (match: object) =>
    fetch(`${sandbox.controlUrl}/rules`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ match, times: 1, outcome: { error: 50300 } }),
    });
  for (const match of [{ operation: "occupancy" }, { path: "/reports/occupancy" }]) {
    expect((await addRule(match)).status).toBe(201);
    expect([await statusOf("/rooms"), await statusOf(report), await statusOf(report)]).toEqual([
      200, 503, 200,
    ]);
  }
  const refused = await addRule({ operation: "occupation" });
  expect(refused.status).toBe(400);
  expect(await refused.text()).toContain("createBooking");
});

test.each(["POST /nothing", "post /rooms", "GET rooms"])(
  "%s, which is not described, is one sentence",
  async (key) => {
    using own = new TemporaryFolder();
    const file = own.file("operations.ts");
    writeFileSync(
      file,
      `import { implement } from "plantstore"; export default implement({ ${JSON.stringify(key)}: () => 1 });`,
    );
    const flags = [
      "--contract",
      contractFile("hotel.yaml"),
      "--extend",
      file,
      "--port",
      "0",
      "--admin-port",
      "0",
    ];
    const { exitCode, stderr } = await runCommand(["sandbox", ...flags]);
    expect({ exitCode, lines: stderr.trimEnd().split("\n").length }).toEqual({ exitCode: 2, lines: 2 });
    expect(stderr).toContain(`the contract does not describe ${key}`);
  },
);
