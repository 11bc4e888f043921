// Retries of the client's fetch against real servers, behind a proxy that loses their responses.

import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { createFetch, type FetchOptions } from "../../../packages/client/src/index.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { eventually } from "../../support/eventually.ts";
import { type Fault, startFaultyProxy } from "../../support/faulty-proxy.ts";
import { RunningServer } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";
import { exported } from "../../support/stored-plants.ts";

/** A server whose ids are UUIDs that it makes, and one whose ids are the client's. */
let members: RunningServer;
let plants: RunningServer;
const tokens = new Map<RunningServer, string>();

beforeAll(async () => {
  members = await RunningServer.startInProcess({ args: ["--contract", contractFile("members.yaml")] });
  plants = await RunningServer.startInProcess({ args: ["--operations", "create,get,delete"] });
  for (const server of [members, plants]) tokens.set(server, await server.createToken());
});
afterAll(async () => {
  await members[Symbol.asyncDispose]();
  await plants[Symbol.asyncDispose]();
});

/** A fetch whose requests to a server meet these faults first. It waits only for Retry-After. */
async function faultyClient(server: RunningServer, faults: Fault[], options: FetchOptions = {}) {
  const proxy = await startFaultyProxy(server.url, faults);
  const fetch = createFetch({ random: () => 0, ...options });
  return {
    requests: proxy.requests,
    faultsMet: proxy.faultsMet,
    send: (method: string, path: string, init: RequestInit & { json?: object } = {}) => {
      const headers = new Headers(init.headers);
      headers.set("Authorization", `Bearer ${tokens.get(server)}`);
      if (init.json !== undefined) headers.set("Content-Type", "application/json");
      const body = init.json === undefined ? {} : { body: JSON.stringify(init.json) };
      return fetch(proxy.url + path, { ...init, method, headers, ...body });
    },
    [Symbol.dispose]: () => proxy[Symbol.dispose](),
  };
}

/** Times out when the client has met some faults, however long that takes on a busy machine. */
function timeoutAfter({ faultsMet }: { faultsMet(): number }, faults: number): AbortSignal {
  const controller = new AbortController();
  const reason = new DOMException("The attempt took too long", "TimeoutError");
  void eventually("the faults are met", () => faultsMet() === faults).then(() => controller.abort(reason));
  return controller.signal;
}

const keysOf = (requests: readonly { readonly headers: Headers }[]) =>
  requests.map(({ headers }) => headers.get("Idempotency-Key"));

test("a create whose responses are lost is one resource, with one key for all attempts", async () => {
  using client = await faultyClient(members, ["lost", "lost"]);
  const created = await client.send("POST", "/members", { json: { name: "Ada" } });
  expect(created.status).toBe(201);
  const { id } = (await created.json()) as { id: string };
  const stored = await exported(members.database);
  expect(stored.match(/"name":"Ada"/g)).toHaveLength(1);
  expect(stored).toContain(`"id":"${id}"`);
  expect(client.requests).toHaveLength(3);
  expect(new Set(client.requests.map(({ body }) => body))).toEqual(new Set(['{"name":"Ada"}']));

  const other = await client.send("POST", "/members", { json: { name: "Ada" } });
  expect(await other.json()).not.toMatchObject({ id });
  const [first, second, third, fourth] = keysOf(client.requests);
  expect([second, third]).toEqual([first, first] as string[]);
  expect(first).toMatch(/^[0-9a-f]{32}$/);
  expect(fourth).not.toBe(first);
});

test("the caller's own key is kept", async () => {
  using client = await faultyClient(members, ["lost"]);
  const headers = { "Idempotency-Key": "order-7" };
  expect((await client.send("POST", "/members", { json: { name: "Grace" }, headers })).status).toBe(201);
  expect(keysOf(client.requests)).toEqual(["order-7", "order-7"]);
});

test("a create with the client's id, a get and a deletion are sent again", async () => {
  using create = await faultyClient(plants, ["lost"]);
  const json = { id: 7, name: "Ficus" };
  expect((await create.send("POST", "/plants", { json })).status).toBe(200);
  expect(await exported(plants.database)).toBe('{"id":7,"name":"Ficus"}\n');
  using get = await faultyClient(plants, ["half"]);
  using _ = spyOn(AbortSignal, "timeout").mockImplementationOnce(() => timeoutAfter(get, 1));
  const got = await get.send("GET", "/plants/7");
  expect([got.url.split("/").at(-1), await got.json()]).toEqual(["7", { name: "Ficus" }]);
  using remove = await faultyClient(plants, ["lost"]);
  expect((await remove.send("DELETE", "/plants/7")).status).toBe(204);
  expect([create, get, remove].map(({ requests }) => requests.length)).toEqual([2, 2, 2]);
  expect(await exported(plants.database)).toBe("");
});

test("a PATCH is sent again only with an ETag, where a second success is impossible", async () => {
  const id = "0190a8c0-0000-7000-8000-000000000001";
  using put = await faultyClient(members, ["lost"]);
  const created = await put.send("PUT", `/members/${id}`, { json: { name: "Bob" } });
  expect(created.status).toBe(200);
  const patch = { json: { name: "Eve" } };

  using without = await faultyClient(members, ["lost"]);
  expect(await settled(without.send("PATCH", `/members/${id}`, patch))).toThrow();
  expect(without.requests).toHaveLength(1);

  using busy = await faultyClient(members, [{ status: 503 }, { status: 503 }]);
  for (const headers of [{}, { "If-Match": "*" }])
    expect((await busy.send("PATCH", `/members/${id}`, { ...patch, headers })).status).toBe(503);

  const etag = (await put.send("GET", `/members/${id}`)).headers.get("etag") ?? "";
  using conditional = await faultyClient(members, [{ status: 503 }, "lost"]);
  const headers = { "If-Match": etag };
  const changed = await conditional.send("PATCH", `/members/${id}`, { json: { name: "Mia" }, headers });
  expect(changed.status).toBe(412);
  expect(conditional.requests).toHaveLength(3);
  expect(await (await put.send("GET", `/members/${id}`)).json()).toMatchObject({ name: "Mia" });
});

test.each([408, 429, 502, 503, 504])("a proxy's page with %d is not the result", async (status) => {
  using client = await faultyClient(plants, [{ status }]);
  expect((await client.send("GET", "/plants/1")).status).toBe(404);
  expect(client.requests).toHaveLength(2);
});

test.each([400, 401, 404, 500])("a response with %d is the result", async (status) => {
  using client = await faultyClient(plants, [{ status }]);
  expect((await client.send("GET", "/plants/1")).status).toBe(status);
  expect(client.requests).toHaveLength(1);
});

test("the last attempt is the result: a response, or the error of fetch", async () => {
  using client = await faultyClient(plants, [{ status: 502 }, { status: 503 }, "lost", "lost"], {
    attempts: 2,
  });
  const response = await client.send("GET", "/plants/1");
  expect([response.status, await response.text()]).toEqual([503, "<html>of a proxy</html>"]);
  expect(await settled(client.send("GET", "/plants/1"))).toThrow();
  expect(client.requests).toHaveLength(4);
});

test.each([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000].entries().toArray())(
  "after %d failures and another one the delay is up to %d ms, and what would be too late ends the request",
  async (failed, limitMs) => {
    const timeoutMs = 3_600_000;
    for (const [share, expected] of [
      [0.99, "it waits"],
      [1, "503"],
    ] as const) {
      const controller = new AbortController();
      let calls = 0;
      const random = () => {
        if (calls++ < failed) return 0;
        controller.abort("it waits");
        return (share * timeoutMs) / limitMs;
      };
      const faults = Array(failed + 1).fill({ status: 503 });
      using client = await faultyClient(plants, faults, { random, timeoutMs, attempts: 100 });
      const outcome = client.send("GET", "/plants/1", { signal: controller.signal });
      expect(await outcome.then(({ status }) => `${status}`, String)).toBe(expected);
      expect(client.requests).toHaveLength(failed + 1);
    }
  },
);

test.each<[value: string, attempts: number]>([
  ["3600", 1],
  [new Date(Date.now() + 3_600_000).toUTCString(), 1],
  ["0", 2],
  [new Date(0).toUTCString(), 2],
  ["soon", 2],
])("Retry-After: %s, within a minute, makes %d attempts", async (value, attempts) => {
  using client = await faultyClient(plants, [{ status: 503, headers: { "Retry-After": value } }]);
  const response = await client.send("GET", "/plants/1");
  expect(response.status).toBe(attempts === 1 ? 503 : 404);
  expect(response.headers.get("retry-after")).toBe(attempts === 1 ? value : null);
  expect(client.requests).toHaveLength(attempts);
});

test("creates over the rate of a token succeed later", async () => {
  await using server = await RunningServer.startInProcess({ args: ["--token-rate", "3"] });
  tokens.set(server, await server.createToken());
  using client = await faultyClient(server, [], { attempts: 100 });
  const create = (id: number) => client.send("POST", "/plants", { json: { id, name: "Ficus" } });
  const responses = await Promise.all(Array.from({ length: 6 }, (_, id) => create(id)));
  expect(responses.map(({ status }) => status)).toEqual(Array(6).fill(200));
  expect(client.requests.length).toBeGreaterThan(6);
});

test.each<Fault>(["silent", "half"])("an attempt that is %s ends after attemptTimeoutMs", async (fault) => {
  const limits = { attemptTimeoutMs: 200, attempts: 2 };
  using client = await faultyClient(plants, [fault, fault], limits);
  using timeout = spyOn(AbortSignal, "timeout");
  for (const faults of [1, 2]) timeout.mockImplementationOnce(() => timeoutAfter(client, faults));
  const failure = await client.send("GET", "/plants/1").catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: "TimeoutError" });
  expect(client.requests).toHaveLength(2);
  expect(timeout.mock.calls).toEqual([[200], [200]]);
});

test("all attempts together end at timeoutMs", async () => {
  const limits = { attemptTimeoutMs: 3_600_000, timeoutMs: 60_000 };
  using client = await faultyClient(plants, [{ status: 503 }, "silent"], limits);
  using timeout = spyOn(AbortSignal, "timeout");
  let aheadMs = 0;
  const { now } = performance;
  using _ = spyOn(performance, "now").mockImplementation(() => now.call(performance) + aheadMs);
  timeout.mockImplementationOnce(() => new AbortController().signal);
  timeout.mockImplementationOnce(() => {
    aheadMs = 60_000;
    return timeoutAfter(client, 2);
  });
  const failure = await client.send("GET", "/plants/1").catch((error: unknown) => error);
  expect(failure).toMatchObject({ name: "TimeoutError" });
  expect(client.requests).toHaveLength(2);
  for (const [ms] of timeout.mock.calls) expect(ms).toBeLessThanOrEqual(60_000);
});

test.each<[when: string, fault: Fault]>([
  ["no response has come", "silent"],
  ["half a response has come", "half"],
  ["it waits for the next attempt", { status: 503, headers: { "Retry-After": "30" } }],
])("an abort while %s ends the request at once, with the signal's reason", async (_, fault) => {
  using client = await faultyClient(plants, [fault]);
  const controller = new AbortController();
  const reason = new Error("not needed any more");
  const get = () =>
    client.send("GET", "/plants/1", { signal: controller.signal }).catch((error: unknown) => error);
  const ended = get();
  await eventually("the request has met the fault", () => client.faultsMet() === 1);
  controller.abort(reason);
  expect(await ended).toBe(reason);
  expect(await get()).toBe(reason);
  expect(client.requests).toHaveLength(1);
});
