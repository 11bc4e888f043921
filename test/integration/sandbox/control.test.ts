// Control of a sandbox: reset, plants, tokens, the clock, and who may use it.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { controlDocument } from "../../../src/sandbox/control-document.ts";
import { sandboxOfThings } from "../../support/contract-sandbox.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

const int64Max = 2n ** 63n - 1n;
const seeds = `{"id": 1, "name": "Monstera deliciosa", "tag": "tropical"}
{"id": ${int64Max}, "name": "Ficus lyrata"}
`;
const seeded = [
  { id: 1n, name: "Monstera deliciosa", tag: "tropical" },
  { id: int64Max, name: "Ficus lyrata" },
];

const folder = new TemporaryFolder();
let sandbox: RunningSandbox;
beforeAll(async () => {
  await Bun.write(folder.file("seeds.ndjson"), seeds);
  sandbox = await RunningSandbox.startInProcess({ args: ["--seed", folder.file("seeds.ndjson")] });
});
beforeEach(async () => {
  expect((await sandbox.control("POST", "/reset")).status).toBe(204);
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

/** The ids in the bodies of the requests in the log. */
async function recordedIds(): Promise<Set<bigint>> {
  const { json } = await sandbox.control("GET", "/requests?limit=1000");
  const { requests } = json as { requests: { request: { body: string } }[] };
  return new Set(requests.map(({ request }) => BigInt(/"id":(-?\d+)/.exec(request.body)?.[1] ?? "0")));
}

const create = (id: bigint, name = "Aloe vera", token = sandbox.token) =>
  post({ url: sandbox.url, token }, plantJson(id, name));

test("the description of a sandbox has its addresses, its token, its plants and the clock", async () => {
  const { json } = await sandbox.control("GET");
  expect(json).toMatchObject({
    url: sandbox.url,
    resourcesUrl: `${sandbox.url}/plants`,
    token: "sandbox",
    resources: 2n,
    clock: { offsetSeconds: 0n },
  });
});

describe("reset", () => {
  test("brings back the seeds: what was created is gone, and what was changed or deleted is as it was", async () => {
    expect((await create(2n)).status).toBe(200);
    expect((await create(1n)).json).toMatchObject({ error: 40009 });
    expect(await sandbox.resources()).toHaveLength(3);
    expect((await sandbox.control("POST", "/reset")).text).toBe("");
    expect(await sandbox.resources()).toEqual(seeded);
    expect((await create(2n, "Another name")).status).toBe(200);
  });

  test("leaves only the fixed token, and sets the clock back", async () => {
    const { json } = await sandbox.control("POST", "/tokens", { name: "ci" });
    const { token } = json as { token: string };
    expect((await create(5n, "x", token)).status).toBe(200);
    await sandbox.control("DELETE", "/tokens/sandbox");
    expect((await create(6n)).status).toBe(401);
    await sandbox.control("PUT", "/clock", { offsetSeconds: 60 });
    await sandbox.control("POST", "/reset");
    expect((await create(7n)).status).toBe(200);
    expect((await create(8n, "x", token)).status).toBe(401);
    expect((await sandbox.control("GET")).json).toMatchObject({ clock: { offsetSeconds: 0n } });
    expect((await sandbox.control("POST", "/tokens", { name: "ci" })).status).toBe(201);
  });

  test("lets every caller begin a new window of its rate", async () => {
    await using limited = await RunningSandbox.startInProcess({ args: ["--token-rate", "1"] });
    const statusOf = async (id: bigint) => (await post(limited, plantJson(id, "x"))).status;
    expect([await statusOf(1n), await statusOf(2n)]).toEqual([200, 429]);
    await limited.control("POST", "/reset");
    expect([await statusOf(3n), await statusOf(4n)]).toEqual([200, 429]);
  });

  test("ends an import of the console, and nothing of it stays", async () => {
    const lines = Promise.withResolvers<void>();
    const file = new ReadableStream<string>({
      async start(controller) {
        const some = Array.from({ length: 30_000 }, (_, id) => `${plantJson(BigInt(id + 10), "x")}\n`);
        controller.enqueue(some.join(""));
        await lines.promise;
        controller.enqueue(plantJson(9n, "late"));
        controller.close();
      },
    });
    const url = sandbox.controlUrl.replace(/sandbox$/, "console/api/import?format=ndjson&update=off");
    const importing = fetch(url, { method: "POST", body: file.pipeThrough(new TextEncoderStream()) });
    await eventually("some are imported", async () => (await sandbox.resources()).length > seeded.length);
    expect((await sandbox.control("POST", "/reset")).status).toBe(204);
    lines.resolve();
    expect(await (await importing).json()).toMatchObject({ message: "cancelled" });
    expect(await sandbox.resources()).toEqual(seeded);
  });

  test("a create that runs meanwhile is discarded, or is after it", async () => {
    let time = 0;
    let lastId = 1_000n;
    let isLoaded = true;
    const creates: { id: bigint; status: number; sentAt: number; answeredAt: number }[] = [];
    const clients = Array.from({ length: 8 }, async () => {
      while (isLoaded) {
        const id = ++lastId;
        const sentAt = ++time;
        // Its connection is closed by a reset.
        const { status } = await create(id, "under load").catch(() => ({ status: 0 }));
        creates.push({ id, status, sentAt, answeredAt: ++time });
      }
    });
    let reset = { sentAt: 0, answeredAt: 0 };
    for (let round = 0; round < 30; round++) {
      const sentAt = ++time;
      expect((await sandbox.control("POST", "/reset")).status).toBe(204);
      reset = { sentAt, answeredAt: ++time };
      // Creates that are sent after it.
      const count = creates.length;
      await eventually("20 more creates", () => creates.length >= count + 20);
    }
    isLoaded = false;
    await Promise.all(clients);

    const stored = new Set((await sandbox.resources()).map(({ id }) => id));
    // Whether a reset closes the connection of a create is a matter of moments.
    expect(creates.filter(({ status }) => status !== 0 && status !== 200)).toEqual([]);
    const [before, after] = [
      creates.filter(({ answeredAt }) => answeredAt < reset.sentAt),
      creates.filter(({ sentAt }) => sentAt > reset.answeredAt),
    ];
    expect(after.length).toBeGreaterThanOrEqual(20 - clients.length);
    expect(before.filter(({ id }) => stored.has(id))).toEqual([]);
    expect(after.filter(({ id }) => !stored.has(id))).toEqual([]);
    for (const { id } of seeded) expect(stored).toContain(id);
    // The log of requests begins at the reset, too.
    const recorded = await recordedIds();
    expect(before.filter(({ id }) => recorded.has(id))).toEqual([]);
    expect(after.filter(({ id }) => !recorded.has(id))).toEqual([]);
    // Creates that crossed it are both stored and in the log, or neither.
    const crossed = creates.filter((each) => !before.includes(each) && !after.includes(each));
    for (const { id } of crossed) expect(recorded.has(id)).toBe(stored.has(id));
  });
});

describe("plants", () => {
  test("are listed in the order of ids, page by page, with exact ids", async () => {
    for (const [id, tag] of [
      [-int64Max - 1n, "tree"],
      [9_007_199_254_740_993n, "tree"],
    ] as const)
      await post(sandbox, plantJson(id, "Quercus", tag));
    const all = [
      { id: -int64Max - 1n, name: "Quercus", tag: "tree" },
      { id: 1n, name: "Monstera deliciosa", tag: "tropical" },
      { id: 9_007_199_254_740_993n, name: "Quercus", tag: "tree" },
      { id: int64Max, name: "Ficus lyrata" },
    ];
    const { json } = await sandbox.control("GET", "/plants");
    expect(json).toEqual({ resources: all, next: null });
    for (const plant of all)
      expect((await sandbox.control("GET", `/plants/${plant.id}`)).json).toEqual(plant);
    const paged: unknown[] = [];
    for (let next: bigint | null | undefined; next !== null; ) {
      const after: string = next === undefined ? "" : `&after=${next}`;
      const page = (await sandbox.control("GET", `/plants?limit=1${after}`)).json as {
        resources: unknown[];
        next: bigint | null;
      };
      expect(page.resources).toHaveLength(1);
      paged.push(...page.resources);
      next = page.next;
    }
    expect(paged).toEqual(all);
  });

  test("a page ends sooner where plants are large", async () => {
    for (let id = 2n; id < 10n; id++) await create(id, "x".repeat(1_000_000));
    const large = (await sandbox.control("GET", "/plants")).json;
    expect(large).toMatchObject({ resources: { length: 6 }, next: 6n });
  });

  test("that cannot be are errors with what is right", async () => {
    expect(await sandbox.control("GET", "/plants/2")).toMatchObject({
      status: 404,
      json: { message: "There is no plant with the id 2." },
    });
    for (const [path, message] of [
      ["/plants/x", 'The id must be a 64-bit integer in decimal digits, but is "x".'],
      [
        "/plants/9223372036854775808",
        'The id must be a 64-bit integer in decimal digits, but is "9223372036854775808".',
      ],
      ["/plants?after=1.5", 'after must be a 64-bit integer in decimal digits, but is "1.5".'],
      ["/plants?limit=1001", 'limit must be an integer from 1 to 1000, but is "1001".'],
    ])
      expect(await sandbox.control("GET", path)).toMatchObject({ status: 400, json: { message } });
  });
});

describe("tokens and the clock", () => {
  const issue = async (body: unknown) =>
    ((await sandbox.control("POST", "/tokens", body)).json as { token: string }).token;

  test("a token expires by the clock, which is effective at once in both directions", async () => {
    const setClock = async (offsetSeconds: number) =>
      expect((await sandbox.control("PUT", "/clock", { offsetSeconds })).status).toBe(200);
    const token = await issue({ name: "short", expiresInSeconds: 60 });
    const status = async () => (await create(1n, "x", token)).status;
    expect(await status()).toBe(400);
    await setClock(61);
    expect(await status()).toBe(401);
    expect((await create(11n)).status).toBe(200);
    await setClock(-10);
    expect(await status()).toBe(400);
    // A token that is issued in the past has expired now. Times are stored in whole milliseconds.
    await setClock(-3_000_000_000.0006);
    const past = await issue({ name: "past", expiresInSeconds: 1.5 });
    expect((await create(14n, "x", past)).status).toBe(200);
    await setClock(0);
    expect((await create(15n, "x", past)).status).toBe(401);
  });

  test("a revoked token is rejected at once, also one that was used before", async () => {
    const token = await issue({ name: "ci / tests" });
    expect((await create(20n, "x", token)).status).toBe(200);
    expect((await sandbox.control("DELETE", "/tokens/ci%20%2F%20tests")).status).toBe(204);
    expect((await create(20n, "x", token)).status).toBe(401);
    expect((await sandbox.control("DELETE", "/tokens/ci%20%2F%20tests")).status).toBe(404);
    expect((await create(20n, "x", await issue({ name: "ci / tests" }))).status).toBe(200);
  });

  test("a token with scopes may do what they allow", async () => {
    const post = { security: [{ oauth: ["things:write"] }] };
    const securitySchemes = { oauth: { type: "oauth2", flows: {} } };
    await using things = await sandboxOfThings({ post, more: { components: { securitySchemes } } });
    for (const [scopes, status] of [
      ["things:read", 403],
      ["things:read things:write", 200],
    ] as const) {
      const { json } = await things.sandbox.control("POST", "/tokens", { name: scopes, scopes });
      const headers = { Authorization: `Bearer ${(json as { token: string }).token}` };
      expect((await things.request("POST", "/things", '{"id":1,"name":"a"}', headers)).status).toBe(status);
    }
    expect((await things.sandbox.control("POST", "/tokens", { name: "x", scopes: "" })).status).toBe(400);
  });

  test("what is not a token or a time is an error with what is right", async () => {
    await issue({ name: "taken" });
    const object = "The body must be a JSON object.";
    for (const [method, path, body, status, message] of [
      ["POST", "/tokens", { name: "taken" }, 409, 'There is a token named "taken"; DELETE it first.'],
      ["POST", "/tokens", { name: "" }, 400, /^The body is not valid: "name" must be a string that matches /],
      ["POST", "/tokens", {}, 400, 'The body is not valid: it must be an object with the member "name".'],
      ["POST", "/tokens", [], 400, object],
      ["POST", "/tokens", "{", 400, object],
      ["POST", "/tokens", { name: "x".repeat(2 ** 20) }, 413, "The body is larger than 1048576 bytes."],
      [
        "PUT",
        "/clock",
        { offsetSeconds: 1e12 },
        400,
        /^The body is not valid: "offsetSeconds" must be a number.* at most 3200000000\.$/,
      ],
    ] as const) {
      const { status: answered, json } = await sandbox.control(method, path, body);
      const expected = typeof message === "string" ? message : expect.stringMatching(message);
      expect([answered, json]).toEqual([status, { message: expected }]);
    }
  });
});

test("the document of control is served, and is what the responses are validated against", async () => {
  const { status, text } = await sandbox.control("GET", "/openapi.json");
  expect([status, JSON.parse(text)]).toEqual([200, controlDocument]);
});

describe("access", () => {
  test("an unknown path is 404, and a method that a path does not offer 405 with those that it does", async () => {
    expect(await sandbox.control("GET", "/nothing")).toMatchObject({
      status: 404,
      json: {
        message: "There is nothing at /sandbox/nothing; GET /sandbox/openapi.json lists what there is.",
      },
    });
    const answer = await sandbox.control("POST", "/clock");
    expect([answer.status, answer.headers.get("allow"), answer.json]).toEqual([
      405,
      "PUT",
      { message: "POST is not offered at /sandbox/clock; it has PUT." },
    ]);
    expect((await sandbox.control("POST", "/reset?plants=1")).json).toEqual({
      message: '"plants" is not a parameter of POST /sandbox/reset; it has none.',
    });
  });

  test("requests of pages from other sites are rejected, also by a name that points at this machine", async () => {
    await create(30n);
    const { host } = new URL(sandbox.controlUrl);
    for (const [headers, status] of [
      [{ Origin: "https://evil.example" }, 403],
      [{ Origin: "null" }, 403],
      [{ "Sec-Fetch-Site": "cross-site" }, 403],
      [{ "Sec-Fetch-Site": "same-site" }, 403],
      [{ Host: "evil.example" }, 421],
      [{ Origin: `http://${host}`, "Sec-Fetch-Site": "same-origin" }, 204],
    ] as const)
      expect([headers, (await sandbox.control("POST", "/reset", undefined, { ...headers })).status]).toEqual([
        headers,
        status,
      ]);
    for (const [headers, status] of [
      [{ "Sec-Fetch-Site": "cross-site" }, 403],
      [{ "Sec-Fetch-Site": "none" }, 200],
    ] as const)
      expect((await sandbox.control("GET", "/plants", undefined, { ...headers })).status).toBe(status);
  });

  test("pages of this machine, or of the origins of --cors, may use control", async () => {
    const preflight = (url: string, origin: string) =>
      fetch(`${url}/rules`, {
        method: "OPTIONS",
        headers: {
          Origin: origin,
          "Sec-Fetch-Site": "cross-site",
          "Access-Control-Request-Method": "POST",
          "Access-Control-Request-Headers": "content-type",
        },
      });
    await using listed = await RunningSandbox.startInProcess({ args: ["--cors", "https://a.example"] });
    for (const [url, origin, isAllowed] of [
      [sandbox.controlUrl, "http://localhost:5173", true],
      [sandbox.controlUrl, "http://127.0.0.1:3000", true],
      [sandbox.controlUrl, "https://a.example", false],
      [sandbox.controlUrl, "http://localhost.a.example", false],
      [listed.controlUrl, "https://a.example", true],
      [listed.controlUrl, "http://localhost:5173", false],
    ] as const) {
      const { status, headers } = await preflight(url, origin);
      expect([origin, status]).toEqual([origin, isAllowed ? 204 : 403]);
      expect(headers.get("access-control-allow-origin")).toBe(isAllowed ? origin : null);
      if (isAllowed) expect(headers.get("access-control-allow-headers")).toBe("content-type");
    }
    const origin = { Origin: "http://localhost:5173", "Sec-Fetch-Site": "same-site" };
    for (const [body, status] of [
      ['{"outcome":{"error":50300}}', 201],
      ["{}", 400],
    ] as const) {
      const answer = await sandbox.control("POST", "/rules", body, origin);
      expect(answer.status).toBe(status);
      expect(answer.headers.get("access-control-allow-origin")).toBe("http://localhost:5173");
    }
  });
});

test("with a password control requires it: by a session of the console, or by HTTP Basic with any user name", async () => {
  const hash = await Bun.password.hash("correct horse", {
    algorithm: "argon2id",
    memoryCost: 8,
    timeCost: 1,
  });
  await using locked = await RunningSandbox.startInProcess({ env: { PLANTSTORE_ADMIN_PASSWORD_HASH: hash } });
  const rejected = await locked.control("GET", "/plants");
  expect([rejected.status, rejected.headers.get("www-authenticate"), rejected.json]).toEqual([
    401,
    'Basic realm="plantstore sandbox", charset="UTF-8"',
    { message: "Log in to the console, or send the password by HTTP Basic." },
  ]);

  const { origin } = new URL(locked.controlUrl);
  const logIn = await fetch(`${origin}/console/api/session`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ password: "correct horse" }),
  });
  const cookie = logIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  const inSession = (headers: Record<string, string>) =>
    fetch(`${origin}/console/api/sandbox`, { headers }).then((response) => response.status);
  expect([await inSession({}), await inSession({ Cookie: cookie })]).toEqual([401, 200]);
  // A session is that of the console's own page.
  expect(await inSession({ Cookie: cookie, Origin: origin })).toBe(200);
  expect(await inSession({ Cookie: cookie, Origin: "http://localhost:5173" })).toBe(401);

  const status = async (headers: Record<string, string>) =>
    (await locked.control("GET", "/plants", undefined, headers)).status;
  const basic = (password: string, user = "me") => ({
    Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
  });
  // More than the attempts that a client has.
  for (let user = 0; user < 6; user++) expect(await status(basic("correct horse", `${user}`))).toBe(200);
  expect(await status({ Authorization: "Bearer sandbox" })).toBe(401);
  expect(await status({ Authorization: "Basic ?" })).toBe(401);
  expect(await status(basic("wrong"))).toBe(401);
});
