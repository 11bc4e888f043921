// Servers that do not speak HTTP, or not as a service should: no rule is judged, or the run ends
// with a report.

import { expect, test } from "bun:test";
import type { Socket } from "bun";
import { conforms, countOutcomes } from "../../../packages/conformance/src/run/run.ts";
import { checkConformance, reportText, rulesNamed } from "../../support/conformance.ts";
import { settled } from "../../support/settled.ts";

type Respond = (socket: Socket<undefined>, request: string) => void;

/** A server that responds to whatever arrives. */
function serve(respond: Respond) {
  const server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data: (socket, chunk) => respond(socket, Buffer.from(chunk).toString("latin1")),
      error: () => undefined,
    },
  });
  const target = { url: `http://127.0.0.1:${server.port}`, token: "token" };
  return { target, stop: () => server.stop(true), [Symbol.dispose]: () => server.stop(true) };
}

/** Writes a text again and again, as fast as it is read. */
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
const endless = flood("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", `10000\r\n${zeros}\r\n`);
const dripping = drip("HTTP/1.1 200 OK\r\nContent-Length: 99999\r\n\r\n");

test.each<[name: string, respond: Respond, problem: string | RegExp]>([
  ["never responds", () => undefined, "no response in 100 ms"],
  ["closes every connection", (socket) => void socket.end(), "was closed without a response"],
  ["resets every connection", (socket) => void socket.terminate(), "was closed without a response"],
  ["sends garbage", respondWith("\x00\x01garbage\r\n\r\n"), "Parse Error"],
  ["redirects", respondWith(json("302 Found", "", "Location: /elsewhere\r\n")), "got 302"],
  ["sends a body without end", flood("HTTP/1.1 200 OK\r\n\r\n", zeros), /more than \d+ bytes/],
  ["sends chunks without end", endless, /more than \d+ bytes/],
  ["sends a head without end", flood("HTTP/1.1 200 OK\r\nX: ", zeros), /Parse Error|overflow/i],
  ["sends a byte at a time", dripping, "no end of the response in 100 ms"],
  ["limits the rate", respondWith(json("429 Too Many", "{}", "Retry-After: 999\r\n")), "limits the rate"],
  ["rejects everything", respondWith(json("400 Bad Request", '{"error":1}')), "got 400"],
  ["fails", respondWith(json("500 Oops", '{"error":1}')), "got 500"],
])("of a server that %s no rule is judged", async (_, respond, problem) => {
  using server = serve(respond);
  // A time-out that only the servers reach which are to reach it, also on a busy machine.
  const timeoutMs = String(problem).includes("100 ms") ? 100 : 30_000;
  const run = checkConformance(server.target, { timeoutMs, bodyBytesMax: 10_000 });
  expect(await settled(run)).toThrow(problem);
});

test.each([
  ["text", "hello", "is not JSON"],
  ["an empty body", "", "has no body"],
  ["null", "null", "expected a JSON object, received null"],
  ["deep nesting", `{"name":${"[".repeat(400_000)}${"]".repeat(400_000)}}`, "received a deeply nested value"],
])("%s as a Plant is a failure", async (_, body, message) => {
  using server = serve(respondWith(json("200 OK", body)));
  const report = await checkConformance(server.target, { rules: rulesNamed("contract.create") });
  expect(report.results[0]?.failures[0]?.message).toContain(message);
});

test("a server that is gone during the run: the rules after that are blocked", async () => {
  let requests = 0;
  const server = serve((socket, request) => {
    respondWith(json("200 OK", `{"name":${/"name":("[\w ]+")/.exec(request)?.[1]}}`))(socket);
    if (++requests === 6) server.stop();
  });
  const report = await checkConformance(server.target);
  expect(reportText(report)).toMatch(/blocked: since \S+ a valid plant gets no response/);
  expect(countOutcomes(report.results).blocked).toBeGreaterThan(report.results.length - 12);
  expect(conforms(report)).toBe(false);
});

test("a server that does not read a large body is a failure, and does not hold the run up", async () => {
  using server = serve((socket, request) => {
    if (Number(/Content-Length: (\d+)/.exec(request)?.[1]) > 1_000) socket.pause();
    else respondWith(json("200 OK", '{"name":"Monstera"}'))(socket);
  });
  const rules = rulesNamed("contract.largest-body");
  const limits = { timeoutMs: 1_000, bodyBytesMax: 64 * 2 ** 20 };
  const report = await checkConformance(server.target, { rules, ...limits });
  expect(reportText(report)).toContain("no response in 1000 ms");
});
