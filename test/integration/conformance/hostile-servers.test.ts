// Servers that do not speak HTTP, or not as a service should: the run ends with a report, and every
// rule fails or is skipped.

import { expect, test } from "bun:test";
import type { Socket } from "bun";
import { conforms, countOutcomes } from "../../../src/conformance/run.ts";
import { checkConformance, reportText, rulesNamed } from "../../support/conformance.ts";

type Respond = (socket: Socket<undefined>, request: string) => void;

/** A server that responds to whatever arrives. */
function serve(respond: Respond) {
  return Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data: (socket, chunk) => respond(socket, Buffer.from(chunk).toString("latin1")),
      error: () => undefined,
    },
  });
}

/** Writes one text again and again, as fast as it is read. */
function flood(start: string, text: string): Respond {
  return (socket) => {
    socket.write(start);
    const timer = setInterval(() => {
      if (socket.readyState !== 1) return clearInterval(timer);
      while (socket.write(text) === text.length);
    }, 1);
  };
}

/** Writes one character at intervals, for ever. */
function drip(start: string): Respond {
  return (socket) => {
    socket.write(start);
    const timer = setInterval(() => (socket.readyState === 1 ? socket.write("x") : clearInterval(timer)), 10);
  };
}

const respondWith = (text: string) => (socket: Socket<undefined>) => {
  socket.write(text);
  socket.end();
};
const json = (status: string, body: string, more = "") =>
  `HTTP/1.1 ${status}\r\nContent-Type: application/json\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
const zeros = "0".repeat(65_536);

const servers: readonly (readonly [name: string, respond: Respond, message: RegExp])[] = [
  ["never responds", () => undefined, /no response in 100 ms/],
  ["closes every connection", (socket) => void socket.end(), /the connection was closed without a response/],
  [
    "resets every connection",
    (socket) => void socket.terminate(),
    /the connection was closed without a response/,
  ],
  ["sends garbage", respondWith("\x00\x01garbage\r\n\r\n"), /does not start with HTTP\/1\./],
  ["redirects", respondWith(json("302 Found", "", "Location: /elsewhere\r\n")), /received 302/],
  ["sends text", respondWith(json("200 OK", "hello")), /is not JSON/],
  ["sends an empty body", respondWith(json("200 OK", "")), /has no body/],
  ["sends null", respondWith(json("200 OK", "null")), /expected a JSON object, received null/],
  ["sends Latin-1", respondWith(json("200 OK", '{"name":"\xe9"}')), /is not UTF-8/],
  ["sends two bodies", respondWith(`${json("200 OK", "{}")}more`), /bytes follow the response/],
  [
    "sends less than its length",
    respondWith("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}"),
    /in the body/,
  ],
  ["sends a body without end", flood("HTTP/1.1 200 OK\r\n\r\n", zeros), /more than \d+ bytes/],
  [
    "sends chunks without end",
    flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", `10000\r\n${zeros}\r\n`),
    /more than \d+ bytes/,
  ],
  ["sends a head without end", flood("HTTP/1.1 200 OK\r\nX: ", zeros), /the head of the response has more/],
  ["sends interim responses without end", flood("", "HTTP/1.1 100 Continue\r\n\r\n".repeat(50)), /interim/],
  [
    "sends a byte at a time",
    drip("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n"),
    /had not ended after 100 ms/,
  ],
  [
    "answers everything with 429",
    respondWith(json("429 Too Many", "{}", "Retry-After: 999\r\n")),
    /limits the rate/,
  ],
];

test.each(servers)("a server that %s", async (_, respond, message) => {
  using server = serve(respond);
  const url = `http://127.0.0.1:${server.port}`;
  const report = await checkConformance({ url, token: "token" }, { timeoutMs: 100, bodyBytesMax: 10_000 });
  expect(conforms(report)).toBe(false);
  expect(countOutcomes(report.results).fails).toBeGreaterThan(0);
  expect(reportText(report)).toMatch(message);
  // Rules that only reject are satisfied by a server that rejects everything, or closes the
  // connection.
  expect(countOutcomes(report.results).holds).toBeLessThan(25);
});

test("a server that stops responding is not waited for again and again", async () => {
  using server = serve(() => undefined);
  const url = `http://127.0.0.1:${server.port}`;
  const report = await checkConformance({ url, token: "token" }, { timeoutMs: 100 });
  const skipped = report.results.filter(({ reason }) => reason?.includes("requests got no response"));
  expect(skipped.length).toBeGreaterThan(report.results.length - 6);
});

test("a response that is nested more deeply than it can be written is a failure", async () => {
  using server = serve(respondWith(json("200 OK", `{"name":${"[".repeat(400_000)}${"]".repeat(400_000)}}`)));
  const url = `http://127.0.0.1:${server.port}`;
  const rules = rulesNamed("contract.create-with-tag");
  const { results } = await checkConformance({ url, token: "x" }, { rules });
  expect(results[0]?.failures[0]?.message).toEndWith("received a deeply nested value");
});

test("a server that is gone during the run is a failure, and not an exception", async () => {
  let requests = 0;
  const server = serve((socket) => {
    respondWith(json("200 OK", '{"name":"Ficus lyrata"}'))(socket);
    if (++requests === 3) server.stop(true);
  });
  const report = await checkConformance({ url: `http://127.0.0.1:${server.port}`, token: "token" });
  expect(reportText(report)).toMatch(/cannot connect to 127\.0\.0\.1:\d+/);
  expect(conforms(report)).toBe(false);
});

test("after an error that precedes the body, a server may close the connection without saying so", async () => {
  using server = serve(respondWith(json("401 Unauthorized", "{}")));
  const rules = rulesNamed("http.keep-alive-after-unread-body");
  const { results } = await checkConformance(
    { url: `http://127.0.0.1:${server.port}`, token: "x" },
    { rules },
  );
  expect(results[0]?.outcome).toBe("holds");
});

test("a server that does not read a large body is a failure, and does not hold the run up", async () => {
  using server = serve((socket) => socket.pause());
  const rules = rulesNamed("contract.largest-body");
  const url = `http://127.0.0.1:${server.port}`;
  const report = await checkConformance(
    { url, token: "x" },
    { rules, timeoutMs: 200, bodyBytesMax: 64 * 2 ** 20 },
  );
  expect(reportText(report)).toContain("no response in 200 ms");
});

test("a connection that is closed while the run learns about conflicts fails one rule, and not the others", async () => {
  let requests = 0;
  using server = serve((socket, request) => {
    if (++requests === 1) socket.end();
    else respondWith(json("200 OK", `{"name":${/"name":("\w+")/.exec(request)?.[1]}}`))(socket);
  });
  const rules = rulesNamed("ids.negative", "ids.beyond-32-bits");
  const { results } = await checkConformance(
    { url: `http://127.0.0.1:${server.port}`, token: "x" },
    { rules },
  );
  expect(results).toMatchObject([
    { outcome: "fails", failures: [{ message: "the connection was closed without a response" }] },
    { outcome: "skipped", reason: "the server accepts another plant with an id that is taken" },
  ]);
});
