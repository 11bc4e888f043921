// Requests that nginx rejects itself with the site file of deploy/: an Error with its headers,
// except where nginx cannot send one.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { errorRegistry } from "../../../src/base/errors.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { type Fault, startFaultyProxy } from "../../support/faulty-proxy.ts";
import { plantJson, post as postPlant, send } from "../../support/http.ts";
import { type Nginx, startNginx } from "../../support/nginx.ts";
import { describeIfInstalled } from "../../support/programs.ts";
import { exchangeRaw, rawAnswers } from "../../support/raw-connection.ts";
import { RunningServer } from "../../support/server.ts";
import { matchesSchema } from "../http/described-responses.ts";

function parseResponse(received: string) {
  const { answers, rest } = rawAnswers(received);
  expect([answers.length, rest]).toEqual([1, ""]);
  const [{ status = 0, headers = [], body: text = "" } = {}] = answers;
  return { status, headers: new Headers([...headers]), text };
}

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
    nginx = await startNginx([port, port]);
  });
  afterAll(async () => {
    await nginx[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });

  const sent = (bytes: string) => exchangeRaw(nginx.url, bytes, nginx.ca);

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
    ["no Host", [post], 400, 40000],
    ["Content-Length and Transfer-Encoding", [post, host, "Content-Length: 1", chunked], 400, 40000],
    ["an unknown transfer coding", [post, host, "Transfer-Encoding: gzip"], 501, 50100],
    ["a request line that is not HTTP", ["nonsense"], 400, 40000],
    ["a target over the limit", [`POST /${long(15_000)} HTTP/1.1`, host], 414, 41400],
    ["an unknown version", ["POST /plants HTTP/3.0", host], 505, 50500],
    ["an unknown method", ["BREW /plants HTTP/1.1", host], 405, 40500],
    ["a body over nginx's limit", [post, host, "Content-Length: 9000000"], 413, 41300],
  ])("%s is rejected with an Error", async (_, head, status, error, body = "") => {
    const lines = head.map((line) => `${line}\r\n`).join("");
    expectError(parseResponse(await sent(lines + end + body)), status, error);
  });

  test("HTTP on the port of HTTPS is rejected with an Error that names HTTPS", async () => {
    const response = parseResponse(
      await exchangeRaw(nginx.url, `POST /plants HTTP/1.1\r\nHost: a\r\n${end}`),
    );
    expectError(response, 400, 40000);
    expect(response.text).toContain("https://");
  });

  test("a method that nginx rejects gets the path's methods in Allow", async () => {
    for (const [path, allow] of [
      ["/plants", "POST"],
      ["/base/plants?a=1", "POST"],
      ["/", "GET, HEAD"],
    ]) {
      const response = parseResponse(await sent(`TRACE ${path} HTTP/1.1\r\nHost: a\r\n${end}`));
      expect(response.headers.get("allow")).toBe(allow ?? "");
    }
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

  test("a create whose response was lost is repeated only if it is the same one then", async () => {
    const path = contractFile("visits.yaml");
    await using visits = await RunningServer.startInProcess({ args: ["--contract", path] });
    const guest = await visits.createToken();
    const faults: Fault[] = ["lost", "lost"];
    using proxy = await startFaultyProxy(visits.url, faults);
    const port = Number(new URL(proxy.url).port);
    await using strict = await startNginx([port, port], false);
    const book = (key: Record<string, string>) =>
      send(`${strict.url}/visits`, {
        method: "POST",
        headers: { Authorization: `Bearer ${guest}`, "Content-Type": "application/json", ...key },
        body: '{"guest":"Grace"}',
        tls: { ca: strict.ca },
      });
    const stored = async () => (await visits.command("export")).stdout.trim().split("\n").length;
    const lost = await book({});
    expect([lost.status, lost.headers.get("retry-after"), await stored()]).toEqual([503, null, 1]);
    expect(lost.text).toContain("check before you send it again");
    const repeated = await book({ "Idempotency-Key": "k" });
    expect([repeated.status, await stored(), proxy.requests.length]).toEqual([201, 2, 3]);
    faults[3] = faults[4] = "lost";
    const unanswered = await book({ "Idempotency-Key": "l" });
    expect(unanswered).toMatchObject({ status: 503, json: { error: 50300 } });
    expect(unanswered.text).toContain("retrying in 1 second is safe");
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
    expect([...own].toSorted()).toEqual([41400, 43100, 50500]);
  });
}

describeIfInstalled("nginx", "nginx", () => describeIfInstalled("openssl", "with TLS", siteSuite));
