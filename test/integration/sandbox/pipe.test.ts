// The pipe of a sandbox: clients receive what they would receive without it, and every byte is in
// the log.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { plantJson, type Target } from "../../support/http.ts";
import { createHead, RawConnection } from "../../support/raw-connection.ts";
import { loggedBytes, loggedRequests, RunningSandbox, requestPage } from "../../support/sandbox.ts";
import { RunningServer } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
let server: Target;
let sandbox: RunningSandbox;
beforeAll(async () => {
  const running = resources.use(await RunningServer.startInProcess());
  server = await running.target();
  sandbox = resources.use(await RunningSandbox.startInProcess({ args: ["--token", server.token] }));
});
afterAll(() => resources.disposeAsync());

/** Without what differs from server to server, and from second to second. */
function normalized(received: string): string {
  return received
    .replaceAll(/(?<=\r\nX-Request-Id: )[\w-]+/gi, "id")
    .replaceAll(/(?<=\r\nDate: )[^\r]+/g, "date")
    .replaceAll(/127\.0\.0\.1:\d+/g, "address")
    .replaceAll(/(?<=\r\n(?:Content-Length|ETag): )[^\r]+/gi, (value) =>
      /^\d{3}$/.test(value) ? value : "n",
    );
}

/** What comes back on a connection of its own, once it is closed or so many responses are there. */
async function receive(target: Target, bytes: string, responses = 1): Promise<string> {
  const connection = await RawConnection.open(target.url);
  connection.write(bytes);
  await connection.until((received) => (received.split("HTTP/1.1 ").length > responses ? true : undefined));
  connection.end();
  return connection.closed;
}

const length = (body: string) => `Content-Length: ${Buffer.byteLength(body)}`;
const create = (token: string, id: number, more = "") => {
  const body = plantJson(BigInt(id), "Monstera ß");
  return createHead({ token }, `${length(body)}${more}`) + Buffer.from(body).toString("latin1");
};
const bare = (line: string, more = "") => `${line}\r\nHost: x\r\n${more}\r\n`;

const requests: readonly [name: string, bytes: (token: string) => string, responses?: number][] = [
  ["a create", (token) => create(token, 1)],
  ["the same create", (token) => create(token, 1)],
  ["a conflict", (token) => `${createHead({ token }, length('{"id":1,"name":"x"}'))}{"id":1,"name":"x"}`],
  ["Connection: close", (token) => create(token, 2, "\r\nConnection: close")],
  ["HTTP/1.0", (token) => create(token, 3).replace("HTTP/1.1", "HTTP/1.0")],
  ["Expect: 100-continue", (token) => create(token, 4, "\r\nExpect: 100-continue"), 2],
  [
    "chunks",
    (token) =>
      `${createHead({ token }, "Transfer-Encoding: chunked")}13;a=b\r\n{"id":5,"name":"abc"\r\n1\r\n}\r\n0\r\n\r\n`,
  ],
  ["trailers", (token) => `${createHead({ token }, "Transfer-Encoding: chunked")}0\r\nX: y\r\n\r\n`, 2],
  ["a broken chunk", () => `${bare("POST /plants HTTP/1.1", "Transfer-Encoding: chunked\r\n")}x\r\n`, 2],
  ["HEAD", () => bare("HEAD /openapi.json HTTP/1.1")],
  ["GET", () => bare("GET /openapi.json HTTP/1.1")],
  ["a document page", () => bare("GET / HTTP/1.1")],
  ["a malformed Host", () => "GET /openapi.json HTTP/1.1\r\nHost: a b\r\n\r\n"],
  [
    "a preflight",
    () =>
      bare(
        "OPTIONS /plants HTTP/1.1",
        "Origin: https://a.example\r\nAccess-Control-Request-Method: POST\r\n",
      ),
  ],
  ["no token", () => bare("GET /plants HTTP/1.1")],
  ["an unknown path", (token) => bare("GET /nowhere HTTP/1.1", `Authorization: Bearer ${token}\r\n`)],
  ["pipelined rejections", () => bare("GET /plants HTTP/1.1").repeat(3), 3],
  ["two equal lengths", (token) => create(token, 6, "\r\nContent-Length: 26")],
  ["both framings", (token) => create(token, 7, "\r\nTransfer-Encoding: chunked")],
  ["another version", () => "GET / HTTP/9.9\r\n"],
  ["line feeds alone", () => "GET / HTTP/1.1\nHost: x\n\n"],
  ["an unknown method", () => bare("BREW / HTTP/1.1")],
  ["an upgrade", () => `${bare("GET /plants HTTP/1.1", "Connection: Upgrade\r\nUpgrade: websocket\r\n")}abc`],
  ["TLS", () => "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"],
  ["large fields", () => bare("GET /plants HTTP/1.1", `X: ${"a".repeat(20_000)}\r\n`)],
  ["a megabyte of fields", () => bare("GET /plants HTTP/1.1", `X: ${"a".repeat(1_000_000)}\r\n`)],
];

test.each(requests)("%s: responses are those of a server, byte for byte", async (_, bytes, responses = 1) => {
  const [one, other] = [
    await receive(server, bytes(server.token), responses),
    await receive(sandbox, bytes(server.token), responses),
  ];
  expect(normalized(other)).toBe(normalized(one));
});

/**
 * All bytes of the log by their connections, whose numbers are in the order in which they were
 * opened.
 */
async function loggedConnections(behind: RunningSandbox, count: number) {
  const connections = new Map<number, { sent: string; received: string }>();
  for (const { number, connection } of await loggedRequests(behind, count)) {
    const before = connections.get(connection) ?? { sent: "", received: "" };
    const bytes = async (kind: "request" | "response") =>
      (await loggedBytes(behind, number, kind)).toString("latin1");
    connections.set(connection, {
      sent: before.sent + (await bytes("request")),
      received: before.received + (await bytes("response")),
    });
  }
  return [...connections].toSorted(([a], [b]) => a - b).map(([, bytes]) => bytes);
}

test("the log has the bytes of the connections: requests one after another and pipelined, split at every byte", async () => {
  await using behind = await RunningSandbox.startInProcess();
  const first = create(behind.token, 1);
  const pipelined = bare("GET /a HTTP/1.1").repeat(2) + create(behind.token, 2, "\r\nConnection: close");
  const connections: { sent: string; received: string }[] = [];
  const send = async (...parts: string[]) => {
    const connection = await RawConnection.open(behind.url);
    connection.write(first);
    await connection.until((received) => (received.includes("Monstera") ? true : undefined));
    for (const part of parts) {
      connection.write(part);
      await Bun.sleep(0);
    }
    const received = await connection.closed;
    expect(received.match(/(?<=HTTP\/1\.1 )\d+/g)?.join()).toBe("200,401,401,200");
    connections.push({ sent: first + pipelined, received });
  };
  for (let at = 0; at <= pipelined.length; at++) await send(pipelined.slice(0, at), pipelined.slice(at));
  await send(...pipelined);
  expect(await loggedConnections(behind, 4 * connections.length)).toEqual(connections);
  expect((await requestPage(behind, `?after=${4 * connections.length}`)).requests).toEqual([]);
});

/** The number of the last request of the log. */
async function lastNumber(): Promise<number> {
  const { json } = await sandbox.control("GET");
  return Number((json as { requests: { next: bigint } }).requests.next);
}

/** The log after a request on a connection of its own. */
async function logged(bytes: string, responses = 1) {
  const last = await lastNumber();
  await receive(sandbox, bytes, responses);
  return (await requestPage(sandbox, `?after=${last}&wait=5`)).requests;
}

test("a request is in the log with its parts and those of its response", async () => {
  const [entry, ...others] = await logged(create(sandbox.token, 100, "\r\nX-Request-Id: mine"));
  expect(others).toEqual([]);
  expect(entry).toMatchObject({
    request: {
      method: "POST",
      target: "/plants",
      version: "HTTP/1.1",
      body: '{"id":100,"name":"Monstera ß"}',
      headers: [
        ["Host", "x"],
        expect.anything(),
        ["Content-Type", "application/json"],
        ["Content-Length", "31"],
        ["X-Request-Id", "mine"],
      ],
    },
    response: { status: 200, body: '{"name":"Monstera ß"}' },
    error: null,
    forced: null,
    ended: "complete",
  });
  expect(Date.now() - Date.parse(entry?.startedAt ?? "")).toBeLessThan(60_000);
  expect(entry?.durationMs).toBeGreaterThan(0);
  expect(Object.fromEntries(entry?.response?.headers ?? [])).toMatchObject({
    "X-Request-Id": "mine",
    "Content-Length": "22",
  });
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
  ["400", "GET / HTTP/1.1\r\nA : b\r\n\r\n", 400],
  ["505", "GET / HTTP/9.9\r\n", 505],
  ["431 of fields that are never complete", `GET / HTTP/1.1\r\nA: ${"b".repeat(100_000)}`, 431],
])("the bare %s of the parser is a response of the log", async (_, bytes, status) => {
  const [entry, ...others] = await logged(bytes);
  expect(others).toEqual([]);
  expect(entry).toMatchObject({
    request: { method: null, target: null, version: null, headers: [], body: bytes, bytes: bytes.length },
    response: { status, headers: [["Connection", "close"]], body: "" },
    ended: "notHttp",
  });
});

test("a complete head that is too large, and one with two framings, are requests of the log", async () => {
  const [large] = await logged(bare("GET /plants HTTP/1.1", `X: ${"a".repeat(20_000)}\r\n`));
  expect(large).toMatchObject({ request: { method: "GET" }, response: { status: 431 }, ended: "complete" });
  const [both] = await logged(create(sandbox.token, 7, "\r\nTransfer-Encoding: chunked"));
  expect(both).toMatchObject({ request: { method: "POST" }, response: { status: 400 }, ended: "complete" });
});

test("a request that is not answered is in the log with what ended it", async () => {
  const half = await logged(`${createHead(sandbox, "Content-Length: 50")}{"id":1`, 0);
  expect(half).toMatchObject([{ request: { body: '{"id":1' }, response: null, ended: "clientAborted" }]);
  const [unknown] = await logged(bare("BREW / HTTP/1.1"));
  expect(unknown).toMatchObject({ request: { method: "BREW" }, response: null, ended: "dropped" });
  expect(await logged("GET /pla", 0)).toMatchObject([
    { request: { method: null, body: "GET /pla" }, ended: "clientAborted" },
  ]);
});

test("an early response and the bytes after it", async () => {
  const connection = await RawConnection.open(sandbox.url);
  const last = await lastNumber();
  connection.write(createHead({ token: "unknown" }, "Content-Length: 5"));
  await connection.until((received) => (received.includes("40101") ? true : undefined));
  expect((await requestPage(sandbox, `?after=${last}`)).requests).toEqual([]);
  connection.write("12345");
  const [entry] = (await requestPage(sandbox, `?after=${last}&wait=5`)).requests;
  expect(entry).toMatchObject({ request: { body: "12345" }, response: { status: 401 }, ended: "complete" });
  connection.terminate();
});

test.each([
  ["a length", "Content-Length: 6000000", ["", ""]],
  ["chunks", "Transfer-Encoding: chunked", ["5b8d80\r\n", "\r\n0\r\n\r\n"]],
])(
  "a message of over 4 MiB with %s is cut in the log, and the next one is whole",
  async (_, framing, around) => {
    const last = await lastNumber();
    const connection = await RawConnection.open(sandbox.url);
    const message = createHead(sandbox, framing) + around.join("x".repeat(6_000_000));
    connection.write(message);
    const { requests: entries } = await requestPage(sandbox, `?after=${last}&wait=10`);
    expect(entries).toMatchObject([
      { request: { isTruncated: true, bytes: message.length }, response: { status: 413 } },
    ]);
    expect((await loggedBytes(sandbox, last + 1, "request")).length).toBe(4 * 2 ** 20);
    const next = bare("GET /plants HTTP/1.1");
    connection.write(next);
    await connection.until((received) => (received.includes("40100") ? true : undefined));
    expect((await loggedBytes(sandbox, last + 2, "request")).toString()).toBe(next);
    connection.terminate();
  },
);
