// Connections that are idle, slow, never read from, or too many: other clients are not affected,
// and their resources are released.

import { expect, test } from "bun:test";
import { ConsoleClient } from "../../support/console.ts";
import { RawConnection } from "../../support/raw-connection.ts";
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

test.concurrent("a silent connection is kept as long as a load balancer needs it, and then closed", async () => {
  const args = ["--idle-seconds-max", "14", "--arrival-seconds-max", "1"];
  await using session = await HostileSession.start(args);
  const connection = await RawConnection.open(session.target.url);
  connection.write("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n");
  const sentAt = performance.now();
  const received = await connection.closed;
  const seconds = (performance.now() - sentAt) / 1_000;
  expect(received).toStartWith("HTTP/1.1 200");
  // Bun looks every 4 seconds.
  expect(seconds).toBeWithin(13, 30);
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

test.concurrent("at the limit of descriptors the server serves the connections that it has, and recovers", async () => {
  await using session = await HostileSession.start(
    ["--connections-max", "100"],
    ["sh", "-c", 'ulimit -n 200; exec "$@"', "sh"],
  );
  const silent = await Promise.all(Array.from({ length: 400 }, () => RawConnection.open(session.target.url)));
  await session.server.logged(({ msg }) => msg.startsWith("too many connections"));
  for (const connection of silent) connection.terminate();
  // Bun ends the process if a thread starts when no descriptor is free: the console's thread has
  // started before.
  expect((await (await ConsoleClient.of(session.server)).read("plants?count=50")).status).toBe(200);
  await session.load.acknowledgedMore(20);
  // Forgets the creates that waited for a descriptor.
  session.load.unanswered.splice(0);
  expect(await session.faults()).toEqual([]);
});
