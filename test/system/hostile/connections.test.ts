// Connections that are held, trickled into, not read from, half-closed: the others do not notice, and what they took
// is given back.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ConsoleClient } from "../../support/console.ts";
import { freshId, post } from "../../support/http.ts";
import { rawAnswers } from "../../support/raw-answers.ts";
import { createHead, RawConnection, stuckCreate } from "../../support/raw-connection.ts";
import { bodyOf } from "./hostile-request.ts";
import { Siege, wellBehavedConnections } from "./hostile-session.ts";

const MiB = 2 ** 20;

const idleWanted = 10_000;
/** Descriptors of a process for everything else. */
const descriptorsBeside = 500;
// Bun raises its own limit to the hard one.
const hardLimit = Number((await Bun.$`sh -c "ulimit -Hn"`.text()).trim().replace("unlimited", "Infinity"));
const idleCount = Math.min(idleWanted, hardLimit - descriptorsBeside);
const reason = idleCount < idleWanted ? ` (not ${idleWanted}: ulimit -Hn is ${hardLimit})` : "";

test(`${idleCount} idle connections are held and given back, and nobody beside them notices${reason}`, async () => {
  await using siege = await Siege.start(["--connections-max", "20000"]);
  const before = await siege.footprint();
  const idle: RawConnection[] = [];
  while (idle.length < idleCount) {
    const count = Math.min(250, idleCount - idle.length);
    const more = await Promise.all(Array.from({ length: count }, () => RawConnection.open(siege.target.url)));
    // Half of them have an answer behind them, the others never say a word.
    const answered = more.slice(0, count / 2);
    for (const connection of answered) connection.write(createHead({ token: "x" }, "Content-Length: 0"));
    await Promise.all(answered.map((connection) => connection.until(hasAnswers(1))));
    idle.push(...more);
  }
  expect(await siege.server.metric("process_open_fds")).toBeGreaterThan(before.descriptors + idleCount / 2);
  await siege.load.acknowledgedMore(20);
  for (const connection of idle) connection.terminate();
  await siege.isBackTo(before);
  expect(await siege.faults()).toEqual([]);
}, 120_000);

test("answers that nobody reads are not heaped up", async () => {
  await using siege = await Siege.start();
  const before = await siege.footprint();
  // Of 15 KB and of 200 bytes; the former need a promise, and the latter are given at once.
  const requests = ["GET /openapi.json", "GET /plants"].map((line) =>
    `${line} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(100_000),
  );
  const greedy = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(siege.target.url)));
  for (const [index, connection] of greedy.entries()) {
    connection.pause();
    connection.write(requests[index % 2] ?? "");
  }
  await siege.load.acknowledgedMore(100);
  await siege.isBackTo(before);
  for (const connection of greedy) connection.terminate();
  expect(await siege.faults()).toEqual([]);
}, 120_000);

test("readers that are slow get every answer whole", async () => {
  await using siege = await Siege.start();
  const before = await siege.footprint();
  const { host } = new URL(siege.target.url);
  const request = `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const slow = await Promise.all(Array.from({ length: 200 }, () => RawConnection.open(siege.target.url)));
  for (let round = 1; round <= 3; round++) {
    for (const connection of slow) {
      connection.pause();
      connection.write(request);
    }
    await siege.load.acknowledgedMore(20);
    for (const connection of slow) connection.resume();
    await Promise.all(slow.map((connection) => connection.until(hasAnswers(round))));
  }
  for (const connection of slow) connection.terminate();
  const description = await (await fetch(`${siege.target.url}/openapi.json`)).text();
  const bodies = slow.flatMap(({ received }) => rawAnswers(received).answers.map(({ body }) => body));
  expect(bodies).toHaveLength(3 * slow.length);
  expect(new Set(bodies)).toEqual(new Set([Buffer.from(description).toString("latin1")]));
  await siege.isBackTo(before);
  expect(await siege.faults()).toEqual([]);
}, 120_000);

test("heads and bodies that trickle are given up, however often a byte comes", async () => {
  await using siege = await Siege.start(["--arrival-seconds-max", "2"]);
  const heads = await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(siege.target.url)));
  for (const head of heads) head.write("POST /plants HTTP/1.1\r\nHost: x\r\n");
  const framings = ["Content-Length: 1000000", "Transfer-Encoding: chunked"] as const;
  const bodies = await Promise.all(
    Array.from({ length: 100 }, (_, index) => stuckCreate(siege.target, framings[index % 2] ?? "", "")),
  );
  const trickle = setInterval(() => {
    for (const head of heads) head.write("X: y\r\n");
    for (const [index, body] of bodies.entries()) body.write(index % 2 === 0 ? " " : "1\r\n \r\n");
  }, 300);
  for (const head of heads) expect(await head.closed).not.toContain("200 OK");
  for (const body of bodies) expect(await body.closed).toContain('{"error":40800,');
  clearInterval(trickle);
  expect(await siege.faults()).toEqual([]);
}, 120_000);

test("a client that closes its half gets no answer or a true one, and its plant is stored whole or not at all", async () => {
  await using siege = await Siege.start();
  const ids = Array.from({ length: 200 }, () => freshId());
  await Promise.all(
    ids.map(async (id) => {
      const body = bodyOf(id);
      siege.load.sent.set(id, body);
      const connection = await stuckCreate(siege.target, `Content-Length: ${body.length}`, body);
      connection.end();
      const answer = await connection.closed;
      // Bun takes a closed half for a closed connection, unless the answer was quicker. Creating again is safe.
      if (answer === "") return;
      expect(answer).toStartWith("HTTP/1.1 200");
      siege.load.acknowledged.add(id);
    }),
  );
  expect(await siege.faults()).toEqual([]);
});

test("connections past the limit are shed, and nobody who sends a request is refused", async () => {
  await using siege = await Siege.start(["--connections-max", "500"]);
  const idle = await Promise.all(Array.from({ length: 1_000 }, () => RawConnection.open(siege.target.url)));
  for (const connection of idle) connection.write(createHead({ token: "x" }, "Content-Length: 0"));
  for (const connection of idle) expect(await connection.closed).toStartWith("HTTP/1.1 401");
  await siege.load.acknowledgedMore(100);
  // A request may cross the closing of its idle connection, and is sent again (RFC 9112, section 9.3.1): no server
  // that closes idle connections can prevent it.
  const crossed = siege.load.unanswered.splice(0);
  expect(crossed.length).toBeLessThanOrEqual(wellBehavedConnections);
  expect(await siege.faults()).toEqual([]);
}, 120_000);

test("documentation files that 800 connections ask for and never read take little memory", async () => {
  await using siege = await Siege.start();
  const html = await (await fetch(`${siege.target.url}/`)).text();
  const scripts = [...html.matchAll(/<script src="([^"]+)"/g)].map(([, path = ""]) => `/${path}`);
  expect(scripts).toHaveLength(2);
  for (const encoding of ["identity", "gzip"]) {
    // The files are loaded when they are first asked for.
    for (const path of scripts)
      await fetch(siege.target.url + path, { headers: { "Accept-Encoding": encoding } });
    const before = await siege.footprint();
    const requests = scripts.map(
      (path) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept-Encoding: ${encoding}\r\n\r\n`,
    );
    const greedy = await Promise.all(Array.from({ length: 800 }, () => RawConnection.open(siege.target.url)));
    for (const connection of greedy) {
      connection.pause();
      connection.write(requests.at(-1) ?? "");
    }
    // Every request is read by then: creates come after them on the server's only thread.
    await siege.load.acknowledgedMore(50);
    const { residentBytes, descriptors } = await siege.footprint();
    expect(residentBytes - before.residentBytes).toBeLessThan(100 * MiB);
    expect(descriptors - before.descriptors).toBeLessThan(850);
    expect(unsentBytes(siege.target.url)).toBeLessThan(100 * MiB);
    for (const connection of greedy) connection.terminate();
    await siege.isBackTo(before);
  }
  expect(await siege.faults()).toEqual([]);
}, 120_000);

test("past the large answers in flight others get 503 with Retry-After, until there is room", async () => {
  await using siege = await Siege.start();
  const html = await (await fetch(`${siege.target.url}/`)).text();
  const bundle = /<script src="([^"]*scalar[^"]*)"/.exec(html)?.[1] ?? "";
  const request = `GET /${bundle} HTTP/1.1\r\nHost: x\r\n\r\n`;
  const greedy = await Promise.all(Array.from({ length: 300 }, () => RawConnection.open(siege.target.url)));
  for (const connection of greedy) connection.write(request);
  for (const connection of greedy) connection.pause();
  let refused = await fetch(`${siege.target.url}/${bundle}`);
  for (; refused.status === 200; refused = await fetch(`${siege.target.url}/${bundle}`))
    await refused.body?.cancel();
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(await refused.json()).toMatchObject({ error: 50300 });
  for (const connection of greedy) connection.terminate();
  for (let status = 503; status !== 200; ) {
    const response = await fetch(`${siege.target.url}/${bundle}`);
    status = response.status;
    await response.arrayBuffer();
  }
  expect(await siege.faults()).toEqual([]);
}, 120_000);

test("at the limit of descriptors connections are shed, and the server goes on", async () => {
  const limit = 200;
  await using siege = await Siege.start(
    ["--connections-max", "100"],
    ["sh", "-c", `ulimit -n ${limit}; exec "$@"`, "sh"],
  );
  const scarce = await siege.server.logged(({ msg }) => msg.startsWith("the limit on open files is too low"));
  expect(scarce.level).toBe("warn");
  expect(scarce.limit).toBe(limit);
  const silent = await Promise.all(Array.from({ length: 400 }, () => RawConnection.open(siege.target.url)));
  await siege.server.logged(({ msg }) => msg.startsWith("too many connections"));
  while ((await siege.openConnections()) > 110) await Bun.sleep(50);
  // A search opens the file once more, in a thread of its own.
  expect((await (await ConsoleClient.of(siege.server)).read("plants?by=id")).status).toBe(200);
  await siege.load.acknowledgedMore(20);
  const before = await siege.server.metric("process_cpu_seconds_total");
  await Bun.sleep(2_000);
  // A listener that cannot accept spins: 2 seconds of processor time, where the creates need 0.1.
  expect((await siege.server.metric("process_cpu_seconds_total")) - before).toBeLessThan(1);
  for (const connection of silent) connection.terminate();
  siege.load.unanswered.splice(0);
  expect(await siege.faults()).toEqual([]);
}, 120_000);

test("connections to the admin listener are not the public listener's, and have a bound of their own", async () => {
  await using siege = await Siege.start(["--connections-max", "100"]);
  const adminUrl = await siege.server.adminUrl();
  const bodies = await Promise.all(
    Array.from({ length: 30 }, () => stuckCreate(siege.target, "Content-Length: 29", "{")),
  );
  const admin = await Promise.all(Array.from({ length: 400 }, () => RawConnection.open(adminUrl)));
  // Some wait for a next request, some never send one, some never end theirs.
  for (const [index, connection] of admin.entries())
    connection.write(
      ["GET /livez HTTP/1.1\r\nHost: x\r\n\r\n", "", "GET /livez HTTP/1.1\r\nX: "][index % 3] ?? "",
    );
  await siege.load.acknowledgedMore(50);
  const connections = await siege.server.metric("plantstore_connections");
  expect(connections).toBeGreaterThanOrEqual(30);
  expect(connections).toBeLessThan(50);
  const shed = await siege.server.logged(({ msg }) => msg.startsWith("too many connections"));
  expect(shed.listener).toBe("admin");
  while ((await siege.server.metric("process_open_fds")) > 256 + 80) await Bun.sleep(50);
  const answer = await post(siege.target, '{"id":1,"name":"Monstera"}');
  expect(answer.status).toBe(200);
  siege.load.sent.set(1n, '{"id":1,"name":"Monstera"}');
  expect(answer.headers.get("connection")).not.toBe("close");
  for (const connection of [...admin, ...bodies]) connection.terminate();
  expect(await siege.faults()).toEqual([]);
}, 120_000);

/** What the system has taken for the clients of a server, and they have not; nothing where it does not say. */
function unsentBytes(url: string): number {
  if (process.platform !== "linux") return 0;
  const port = Number(new URL(url).port).toString(16).padStart(4, "0").toUpperCase();
  return [...readFileSync("/proc/net/tcp", "latin1").matchAll(/^ *\d+: \w{8}:(\w{4}) \S+ 01 (\w{8}):/gm)]
    .filter(([, local]) => local === port)
    .reduce((sum, [, , unsent = ""]) => sum + Number.parseInt(unsent, 16), 0);
}

function hasAnswers(count: number): (received: string) => true | undefined {
  return (received) => (rawAnswers(received).answers.length >= count ? true : undefined);
}
