// The listener of a sandbox: clients receive what a server answers, and all of it is in the log.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { eventually } from "../../support/eventually.ts";
import { plantJson } from "../../support/http.ts";
import { createHead, RawConnection } from "../../support/raw-connection.ts";
import { RunningSandbox, requestPage } from "../../support/sandbox.ts";

const resources = new AsyncDisposableStack();
let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = resources.use(await RunningSandbox.startInProcess());
});
afterAll(() => resources.disposeAsync());

const create = (id: number, more = "") => {
  const body = plantJson(BigInt(id), "Monstera ß");
  const head = createHead(sandbox, `Content-Length: ${Buffer.byteLength(body)}${more}`);
  return head + Buffer.from(body).toString("latin1");
};
const bare = (line: string, more = "") => `${line}\r\nHost: x\r\n${more}\r\n`;

/** Sends bytes on a new connection, and reads until it is closed or has so many responses. */
async function receive(bytes: string, responses: number): Promise<string> {
  const connection = await RawConnection.open(sandbox.url);
  connection.write(bytes);
  await connection.until((received) => (received.split("HTTP/1.1 ").length > responses ? true : undefined));
  connection.end();
  return connection.closed;
}

/** The number of the last request of the log. */
async function lastNumber(): Promise<number> {
  const { json } = await sandbox.control("GET");
  return Number((json as { requests: { next: bigint } }).requests.next);
}

/** The log after a request on a connection of its own, with its response. */
async function logged(bytes: string, responses = 1) {
  const last = await lastNumber();
  await receive(bytes, responses);
  return (await requestPage(sandbox, `?after=${last}&wait=5`)).requests;
}

test("a request is in the log with its parts and those of its response", async () => {
  const [entry, ...others] = await logged(create(100, "\r\nX-Request-Id: mine"));
  expect(others).toEqual([]);
  expect(entry).toMatchObject({
    request: {
      method: "POST",
      target: "/plants",
      version: "HTTP/1.1",
      headers: [
        ["Host", "x"],
        ["Authorization", "Bearer sandbox"],
        ["Content-Type", "application/json"],
        ["Content-Length", "31"],
        ["X-Request-Id", "mine"],
      ],
      body: '{"id":100,"name":"Monstera ß"}',
      bytes: 31,
    },
    response: { status: 200, body: '{"name":"Monstera ß"}', bytes: 22 },
    error: null,
    forced: null,
    ended: "complete",
  });
  expect(Date.now() - Date.parse(entry?.startedAt ?? "")).toBeLessThan(60_000);
  expect(entry?.durationMs).toBeGreaterThan(0);
  expect(Object.fromEntries(entry?.response?.headers ?? [])).toMatchObject({
    "x-request-id": "mine",
    "content-length": "22",
  });
});

test.each(["foo", "100-Continue"])("Expect: %s is answered, and is in the log", async (expectation) => {
  const [entry] = await logged(create(120, `\r\nExpect: ${expectation}`), 1);
  expect(entry).toMatchObject({ request: { headers: expect.arrayContaining([["Expect", expectation]]) } });
});

test("chunked bodies are in the log without their framing, and bytes that are not UTF-8 in base64", async () => {
  const head = createHead(sandbox, "Transfer-Encoding: chunked");
  const [chunked] = await logged(`${head}3\r\n{"a\r\n2\r\n":\r\n0\r\n\r\n`);
  expect(chunked?.request.body).toBe('{"a":');
  const [binary] = await logged(`${createHead(sandbox, "Content-Length: 2")}\xff\xfe`);
  expect(binary).toMatchObject({
    request: { body: null, bodyBase64: "//4=" },
    response: { status: 400 },
    error: 40001,
  });
});

test.each([
  ["HTTP/1.0", () => create(1).replace("HTTP/1.1", "HTTP/1.0"), "200"],
  ["Expect: 100-continue", () => create(2, "\r\nExpect: 100-continue"), "100,200"],
  ["HEAD", () => bare("HEAD /openapi.json HTTP/1.1"), "200"],
  ["no Host", () => "GET /plants HTTP/1.1\r\n\r\n", "400"],
  ["pipelined requests", () => bare("GET /plants HTTP/1.1").repeat(3) + create(3), "401,401,401,200"],
])("%s", async (_, bytes, statuses) => {
  const received = await receive(bytes(), statuses.split(",").length);
  expect(received.match(/(?<=HTTP\/1\.1 )\d+/g)?.join()).toBe(statuses);
});

test.each([
  ["a field name with a space", "GET / HTTP/1.1\r\nA : b\r\n\r\n", 400],
  ["another protocol", "\x16\x03\x01\x02\x00\x01\r\n\r\n", 400],
  ["another version", "GET / HTTP/9.9\r\n\r\n", 505],
  ["fields that are too large", `GET / HTTP/1.1\r\nA: ${"b".repeat(20_000)}\r\n\r\n`, 431],
])("%s: what the parser rejects is in the log as it arrived", async (_, bytes, status) => {
  expect(await logged(bytes)).toMatchObject([
    {
      request: { method: null, target: null, version: null, headers: [], body: bytes, bytes: bytes.length },
      response: { status, headers: [["connection", "close"]], body: "" },
      ended: "notHttp",
    },
  ]);
});

test("a request whose client leaves is in the log, with the part of the body that had arrived", async () => {
  const half = await logged(`${createHead(sandbox, "Content-Length: 50")}{"id":1`, 0);
  expect(half).toMatchObject([{ request: { body: '{"id":1' }, response: null, ended: "clientAborted" }]);
});

test.each([
  ["a length", "Content-Length: 6000000", ["", ""]],
  ["chunks", "Transfer-Encoding: chunked", ["5b8d80\r\n", "\r\n0\r\n\r\n"]],
])(
  "a body over the limit with %s is counted, and leaves the connection usable",
  async (_, framing, around) => {
    const last = await lastNumber();
    const connection = await RawConnection.open(sandbox.url);
    connection.write(createHead(sandbox, framing) + around.join("x".repeat(6_000_000)));
    const { requests } = await requestPage(sandbox, `?after=${last}&wait=10`);
    expect(requests).toMatchObject([{ response: { status: 413 }, error: 41300, ended: "complete" }]);
    connection.write(bare("GET /plants HTTP/1.1"));
    await connection.until((received) => (received.includes("40100") ? true : undefined));
    connection.terminate();
  },
);

test("a body of over 4 MiB is cut in the log", async () => {
  await using large = await RunningSandbox.startInProcess({ args: ["--body-bytes-max", "8000000"] });
  const connection = await RawConnection.open(large.url);
  connection.write(createHead(large, "Content-Length: 6000000") + "x".repeat(6_000_000));
  const [entry] = (await requestPage(large, "?wait=10")).requests;
  expect(entry).toMatchObject({
    request: { isTruncated: true, bytes: 6_000_000 },
    response: { status: 400 },
  });
  expect(entry?.request.body).toHaveLength(4 * 2 ** 20);
  connection.terminate();
});

test("bodies and connections have limits, and a client that leaves frees its part of both", async () => {
  const limits = ["--in-flight-bytes-max", "1", "--body-bytes-max", "5000000", "--connections-max", "3"];
  await using own = await RunningSandbox.startInProcess({ args: limits });
  const waiting = createHead(own, "Prefer: delay=3600\r\nContent-Length: 0");
  const pipelined = await RawConnection.open(own.url);
  pipelined.write(waiting.repeat(4));
  expect(await pipelined.closed).toBe("");
  /** The beginning of a body of which two have no room. */
  const half = createHead(own, "Prefer: delay=3600\r\nContent-Length: 4194304") + "x".repeat(1_000);
  const held = await Promise.all([RawConnection.open(own.url), RawConnection.open(own.url)]);
  for (const each of held) each.write(half);
  expect(await Promise.race(held.map(({ closed }) => closed))).toStartWith("HTTP/1.1 503 ");
  const left = held.filter(({ received }) => received === "");
  expect(left).toHaveLength(1);
  left[0]?.terminate();
  const next = await eventually("a body has room", async () => {
    const connection = await RawConnection.open(own.url);
    connection.write(createHead(own, "Content-Length: 4194304") + "x".repeat(4_194_304));
    const status = await connection.until((received) => /^HTTP\/1.1 \d+/.exec(received)?.[0]);
    if (status === "HTTP/1.1 400") return connection;
    connection.terminate();
    return undefined;
  });
  const others = await Promise.all(Array.from({ length: 3 }, () => RawConnection.open(own.url)));
  for (const each of others) each.write(bare("GET /plants HTTP/1.1"));
  const answered = others.map((each) => each.until((text) => (text.includes("40100") ? true : undefined)));
  expect((await Promise.all(answered)).filter(Boolean)).toHaveLength(2);
  for (const each of [next, ...others]) each?.terminate();
});

test("a connection with more than a thousand requests without a response is closed", async () => {
  const connection = await RawConnection.open(sandbox.url);
  const get = bare("GET /plants HTTP/1.1");
  connection.write(createHead(sandbox, "Prefer: delay=3600\r\nContent-Length: 0") + get.repeat(1_000));
  expect(await connection.closed).toBe("");
});

test.each(["GET", "HEAD"])(
  "a long response to %s is cut in the log, which has its length",
  async (method) => {
    await using own = await RunningSandbox.startInProcess();
    const response = await fetch(`${own.url}/docs/scalar.js`, {
      method,
      headers: { "Accept-Encoding": "gzip" },
    });
    const { length } = await response.bytes();
    const [entry] = (await requestPage(own)).requests;
    const bytes = Number(response.headers.get("content-length"));
    expect(bytes).toBeGreaterThan(1_000_000);
    expect(length > 0).toBe(method === "GET");
    expect(entry?.response).toMatchObject(method === "HEAD" ? { bytes: 0 } : { bytes, isTruncated: true });
  },
);
