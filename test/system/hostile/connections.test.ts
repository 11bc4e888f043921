// Connections that are idle, slow, never read from, or half-closed: other clients are not affected,
// and their resources are released.

import { expect, test } from "bun:test";
import { ConsoleClient } from "../../support/console.ts";
import { freshId, plantJson } from "../../support/http.ts";
import { createHead, RawConnection, rawAnswers, stuckCreate } from "../../support/raw-connection.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { RunningServer } from "../../support/server.ts";
import { storePlants } from "../../support/stored-plants.ts";
import { bodyOf } from "./hostile-request.ts";
import { HostileSession, idleCount, openIdle, residentBytesMax } from "./hostile-session.ts";

test.concurrent(`${idleCount} idle connections are held and released, and other clients are not affected`, async () => {
  await using session = await HostileSession.start(["--connections-max", "20000"]);
  const before = await session.footprint();
  const idle = await openIdle(session.target.url, idleCount);
  const { residentBytes, descriptors } = await session.footprint();
  expect(descriptors).toBeGreaterThan(before.descriptors + idleCount / 2);
  expect(residentBytes).toBeLessThan(residentBytesMax);
  await session.load.acknowledgedMore(20);
  for (const connection of idle) connection.terminate();
  await session.descriptorsAreBackTo(before);
  expect(await session.faults()).toEqual([]);
});

test.concurrent("responses that are never read do not accumulate", async () => {
  await using session = await HostileSession.start();
  const before = await session.footprint();
  // Responses of 15 KB, which are asynchronous, and of 200 bytes, which are synchronous.
  const requests = ["GET /openapi.json", "GET /plants"].map((line) =>
    `${line} HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(100_000),
  );
  const greedy = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(session.target.url)));
  for (const [index, connection] of greedy.entries()) {
    connection.pause();
    connection.write(requests[index % 2] ?? "");
  }
  await session.load.acknowledgedMore(100);
  expect((await session.footprint()).residentBytes).toBeLessThan(residentBytesMax);
  for (const connection of greedy) connection.terminate();
  await session.descriptorsAreBackTo(before);
  expect(await session.faults()).toEqual([]);
});

test.concurrent("an idle connection is closed after a minute, also if a sandbox has delayed a response on it", async () => {
  await using sandbox = await RunningSandbox.startInProcess();
  await sandbox.control("PUT", "/rules", { rules: [{ outcome: { delay: { seconds: 0.1 } } }] });
  const connection = await RawConnection.open(sandbox.url);
  const body = plantJson(freshId(), "Monstera");
  connection.write(createHead(sandbox, `Content-Length: ${body.length}`) + body);
  expect(rawAnswers(await connection.closed)).toMatchObject({ answers: [{ status: 200 }], rest: "" });
});

test.concurrent("a download of the console that is never read ends after a minute, and not as a complete one does", async () => {
  await using server = await RunningServer.start();
  // More than the buffers of a connection take.
  const plants = Array.from({ length: 20_000 }, (_, id) => ({ id: BigInt(id), name: "x".repeat(1_000) }));
  await storePlants(server.database, plants);
  const connection = await RawConnection.open(await server.adminUrl());
  connection.write(
    "GET /console/api/export?format=ndjson HTTP/1.1\r\nHost: localhost\r\nX-Plantstore-Console: 1\r\n\r\n",
  );
  await connection.until((received) => (received.length > 0 ? true : undefined));
  connection.pause();
  await Bun.sleep(75_000);
  connection.resume();
  expect(await connection.closed).not.toEndWith("0\r\n\r\n");
});

test.concurrent("slow readers receive every response completely", async () => {
  await using session = await HostileSession.start();
  const before = await session.footprint();
  const { host } = new URL(session.target.url);
  const request = `GET /openapi.json HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
  const slow = await Promise.all(Array.from({ length: 200 }, () => RawConnection.open(session.target.url)));
  for (let round = 1; round <= 3; round++) {
    for (const connection of slow) {
      connection.pause();
      connection.write(request);
    }
    await session.load.acknowledgedMore(20);
    for (const connection of slow) connection.resume();
    await Promise.all(slow.map((connection) => connection.until(hasAnswers(round))));
  }
  for (const connection of slow) connection.terminate();
  const description = await (await fetch(`${session.target.url}/openapi.json`)).text();
  const bodies = slow.flatMap(({ received }) => rawAnswers(received).answers.map(({ body }) => body));
  expect(bodies).toHaveLength(3 * slow.length);
  expect(new Set(bodies)).toEqual(new Set([Buffer.from(description).toString("latin1")]));
  await session.descriptorsAreBackTo(before);
  expect(await session.faults()).toEqual([]);
});

test.concurrent("slow heads time out, however often a byte arrives", async () => {
  await using session = await HostileSession.start();
  const heads = await Promise.all(Array.from({ length: 100 }, () => RawConnection.open(session.target.url)));
  for (const head of heads) head.write("POST /plants HTTP/1.1\r\nHost: x\r\n");
  const trickle = setInterval(() => {
    for (const head of heads) head.write("X: y\r\n");
  }, 300);
  for (const head of heads) expect(await head.closed).not.toContain("200 OK");
  clearInterval(trickle);
  expect(await session.faults()).toEqual([]);
});

test.concurrent("a client that half-closes gets no response or a correct one, and its plant is stored completely or not at all", async () => {
  await using session = await HostileSession.start();
  const ids = Array.from({ length: 200 }, () => freshId());
  await Promise.all(
    ids.map(async (id) => {
      const body = bodyOf(id);
      session.load.sent.set(id, body);
      const connection = await stuckCreate(session.target, `Content-Length: ${body.length}`, body);
      connection.end();
      const answer = await connection.closed;
      // Bun treats a half-closed connection as closed, unless the response was sent first. Creating
      // again is safe.
      if (answer === "") return;
      expect(answer).toStartWith("HTTP/1.1 200");
      session.load.acknowledged.add(id);
    }),
  );
  expect(await session.faults()).toEqual([]);
});

test.concurrent("at the limit of descriptors the server says so, serves the connections that it has, and recovers", async () => {
  const limit = 200;
  await using session = await HostileSession.start(
    ["--connections-max", "100"],
    ["sh", "-c", `ulimit -n ${limit}; exec "$@"`, "sh"],
  );
  const scarce = await session.server.logged(({ msg }) =>
    msg.startsWith("the limit on open files is too low"),
  );
  expect(scarce.level).toBe("warn");
  expect(scarce.limit).toBe(limit);
  const silent = await Promise.all(Array.from({ length: 400 }, () => RawConnection.open(session.target.url)));
  await session.server.logged(({ msg }) => msg.startsWith("too many connections"));
  for (const connection of silent) connection.terminate();
  // Bun ends the process if a thread starts when no descriptor is free: the console's thread has
  // started before.
  expect((await (await ConsoleClient.of(session.server)).read("plants?sort=id")).status).toBe(200);
  await session.load.acknowledgedMore(20);
  // Those that waited for a descriptor.
  session.load.unanswered.splice(0);
  expect(await session.faults()).toEqual([]);
});

function hasAnswers(count: number): (received: string) => true | undefined {
  return (received) => (rawAnswers(received).answers.length >= count ? true : undefined);
}
