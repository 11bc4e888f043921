// Requests that nginx rejects itself with the site file of deploy/: an Error with its headers,
// except where nginx cannot send one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { connect as connectPlain, type Socket } from "node:net";
import { connect } from "node:tls";
import { errorRegistry } from "../../../src/core/contract/errors.ts";
import { plantJson, post as postPlant } from "../../support/http.ts";
import { type Nginx, startNginx } from "../../support/nginx.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { rawAnswers } from "../../support/raw-connection.ts";
import { RunningServer } from "../../support/server.ts";
import { matchesSchema } from "../core/http/described-responses.ts";

/**
 * Sends bytes, and resolves with one response, or with everything received until the connection
 * closed.
 */
function send(socket: Socket, bytes: string): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk.toString("latin1");
    // nginx would wait for the rest of a request that it has rejected.
    if (rawAnswers(received).answers.length > 0) socket.destroy();
  });
  // nginx may reset a connection on which it receives more than it reads.
  socket.on("error", () => undefined);
  socket.on("close", () => resolve(received));
  socket.write(bytes, "latin1");
  return promise;
}

function parseResponse(received: string) {
  const { answers, rest } = rawAnswers(received);
  expect([answers.length, rest]).toEqual([1, ""]);
  const [{ status = 0, headers = [], body: text = "" } = {}] = answers;
  return { status, headers: new Headers([...headers]), text };
}

/** Shorter timeouts, and a path with an internal error of nginx. */
const changes = [
  ["client_body_timeout 20s;", "client_body_timeout 1s; client_header_timeout 1s;"],
  ["proxy_read_timeout 20s;", "proxy_read_timeout 1s;"],
  ["location / {", "location = /cycle { rewrite ^ /cycle last; }\n    location / {"],
] as const;

const [post, host, chunked] = ["POST /plants HTTP/1.1", "Host: a", "Transfer-Encoding: chunked"];
const end = "Connection: close\r\n\r\n";
const long = (bytes: number) => "x".repeat(bytes);

function siteSuite(): void {
  let server: RunningServer;
  let nginx: Nginx;
  let token: string;

  beforeAll(async () => {
    server = await RunningServer.startInProcess();
    token = await server.createToken();
    const port = Number(new URL(server.url).port);
    nginx = await startNginx([port, port], changes);
  });
  afterAll(async () => {
    await nginx[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const port = () => Number(new URL(nginx.url).port);
  const overTls = (bytes: string) => send(connect({ host: "127.0.0.1", port: port(), ca: nginx.ca }), bytes);

  /** Asserts a complete Error that was not sent by a server behind nginx. */
  function expectError(response: ReturnType<typeof parseResponse>, status: number, error: number): void {
    expect({ status: response.status, type: response.headers.get("content-type") }).toEqual({
      status,
      type: "application/json",
    });
    expect(JSON.parse(response.text)).toEqual({ error, message: expect.stringMatching(/^[A-Z].*\.$/) });
    // The default response of the description.
    expect(matchesSchema("Error", JSON.parse(response.text))).toBe(true);
    expect(response.headers.get("cache-control")).toBe("no-store");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-expose-headers")).toBe("Retry-After, Allow");
    expect(response.headers.get("retry-after")).toBe(status === 503 ? "1" : null);
    expect(response.headers.has("allow")).toBe(status === 405);
    expect(response.headers.has("x-request-id")).toBe(false);
  }

  test.each<[name: string, head: string[], status: number, error: number, body?: string]>([
    ["a header field over the limit", [post, host, `X: ${long(15_000)}`], 431, 43100],
    ["many fields over the limit", [post, host, ...Array(40).fill(`X: ${long(1_000)}`)], 431, 43100],
    ["no Host", [post], 400, 40000],
    ["two Hosts", [post, host, "Host: b"], 400, 40000],
    ["a Content-Length that is not a number", [post, host, "Content-Length: x"], 400, 40000],
    ["Content-Length and Transfer-Encoding", [post, host, "Content-Length: 1", chunked], 400, 40000],
    ["an invalid chunk size", [post, host, chunked], 400, 40000, "zz\r\n"],
    ["an unknown transfer coding", [post, host, "Transfer-Encoding: gzip"], 501, 50100],
    ["a request line that is not HTTP", ["nonsense"], 400, 40000],
    ["CONNECT", ["CONNECT a:443 HTTP/1.1", "Host: a:443"], 400, 40000],
    ["a target over the limit", [`POST /${long(15_000)} HTTP/1.1`, host], 414, 41400],
    ["an unknown version", ["POST /plants HTTP/3.0", host], 505, 50500],
    ["TRACE", ["TRACE /plants HTTP/1.1", host], 405, 40500],
    ["an unknown method", ["BREW /plants HTTP/1.1", host], 405, 40500],
    ["a body over nginx's limit", [post, host, "Content-Length: 9000000"], 413, 41300],
    ["a chunked body over nginx's limit", [post, host, chunked], 413, 41300, `900000\r\n${long(100)}`],
  ])("%s is rejected with an Error", async (_, head, status, error, body = "") => {
    const lines = head.map((line) => `${line}\r\n`).join("");
    expectError(parseResponse(await overTls(lines + end + body)), status, error);
  });

  test("HTTP on the port of HTTPS is rejected with an Error that names HTTPS", async () => {
    const socket = connectPlain({ host: "127.0.0.1", port: port() });
    const response = parseResponse(await send(socket, `POST /plants HTTP/1.1\r\nHost: a\r\n${end}`));
    expectError(response, 400, 40000);
    expect(response.text).toContain("https://");
  });

  test("a method that nginx rejects gets the path's methods in Allow", async () => {
    for (const [path, allow] of [
      ["/plants", "POST"],
      ["/base/plants?a=1", "POST"],
      ["/", "GET, HEAD"],
    ]) {
      const response = parseResponse(await overTls(`TRACE ${path} HTTP/1.1\r\nHost: a\r\n${end}`));
      expect(response.headers.get("allow")).toBe(allow ?? "");
    }
  });

  test("a server accepts the longest header that nginx forwards", async () => {
    // 14 KiB for a field that does not fit into the first buffer of 1 KiB, including its name and
    // the end of the line.
    const field = `X: ${long(14 * 1_024 - 200)}`;
    const body = plantJson(1n, "Monstera");
    const head = `POST /plants HTTP/1.1\r\nHost: a\r\n${field}\r\nContent-Type: application/json\r\n`;
    const request = `${head}Content-Length: ${body.length}\r\n`;
    const anonymous = parseResponse(await overTls(`${request}${end}${body}`));
    expect(anonymous.status).toBe(401);
    expect(anonymous.headers.has("x-request-id")).toBe(true);
    const short = request.replace(field, `Authorization: Bearer ${token}\r\nX: ${long(12_000)}`);
    expect(parseResponse(await overTls(`${short}${end}${body}`))).toMatchObject({
      status: 200,
      text: '{"name":"Monstera"}',
    });
  });

  test("refusals come through as the servers make them", async () => {
    const target = { url: nginx.url, ca: nginx.ca, token };
    const anonymous = await postPlant(target, plantJson(1n, "Monstera"), { Authorization: "" });
    expect(anonymous).toMatchObject({ status: 401, json: { error: 40100 } });
    expect(anonymous.headers.get("www-authenticate")).toBe('Bearer realm="plantstore"');
    const tooLarge = await postPlant(target, plantJson(1n, "x".repeat(2 * 2 ** 20)));
    expect(tooLarge).toMatchObject({ status: 413, json: { error: 41300 } });
    expect(tooLarge.headers.has("x-request-id")).toBe(true);
  });

  test("the error codes in the site file match the registry, apart from those of nginx itself", async () => {
    const site = await Bun.file(new URL("../../../deploy/nginx/plantstore.conf", import.meta.url)).text();
    const registered: readonly number[] = Object.values(errorRegistry).map(({ error }) => error);
    const errors = [...site.matchAll(/return (\d+) '(.*)';/g)].map(([, status, json = ""]) => ({
      status: Number(status),
      error: JSON.parse(json).error as number,
    }));
    expect(errors.length).toBeGreaterThan(5);
    for (const { status, error } of errors) expect(Math.trunc(error / 100)).toBe(status);
    const own = new Set(errors.map(({ error }) => error).filter((error) => !registered.includes(error)));
    expect([...own].toSorted()).toEqual([41400, 43100, 50100, 50500]);
  });

  test("servers that do not respond are an Error with Retry-After", async () => {
    using silent = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => undefined } });
    await using before = await startNginx([silent.port, silent.port], changes);
    const socket = connect({ host: "127.0.0.1", port: Number(new URL(before.url).port), ca: before.ca });
    const response = parseResponse(await send(socket, `GET / HTTP/1.1\r\nHost: a\r\n${end}`));
    expectError(response, 503, 50300);
  });

  test("an internal path of nginx is not found for clients", async () => {
    const response = parseResponse(await overTls(`GET /.nginx/400 HTTP/1.1\r\nHost: a\r\n${end}`));
    expectError(response, 404, 40400);
  });

  test.each([
    ["body", "Content-Length: 100\r\n\r\n{"],
    ["header", "X-"],
  ])("a %s that stops arriving closes the connection without a response", async (_, start) => {
    expect(await overTls(`POST /plants HTTP/1.1\r\nHost: a\r\n${start}`)).toBe("");
  });
}

describeIfInstalled(
  "nginx",
  "nginx",
  () => describeIfInstalled("openssl", "with TLS", siteSuite),
  "nginx-light",
);
