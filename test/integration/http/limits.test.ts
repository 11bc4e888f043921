// The limits of a server, and the response past each of them.

import { expect, test } from "bun:test";
import { eventually } from "../../support/eventually.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process-server.ts";
import { RawConnection, stuckCreate } from "../../support/raw-connection.ts";
import { RunningServer } from "../../support/server.ts";
import { exported } from "../../support/stored-plants.ts";

/** Waits until the bytes of unfinished bodies in memory are between two numbers. */
async function untilBodyBytes(
  server: InProcessServer,
  bytesMin: number,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<void> {
  await eventually(
    `${bytesMin} to ${bytesMax} bytes of bodies in memory`,
    () => server.metric("plantstore_body_bytes"),
    (bytes) => bytes >= bytesMin && bytes <= bytesMax,
  );
}

test("past a full queue 50300 with Retry-After, and every response is true to what is stored", async () => {
  await using server = await startInProcess({ limits: { queuePlantsMax: 2 } });
  const target = await server.target();
  const ids = Array.from({ length: 200 }, () => freshId());
  const answers = await Promise.all(ids.map((id) => post(target, plantJson(id, "x".repeat(2_000)))));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, headers, json } of refused) {
    expect(status).toBe(503);
    expect(headers.get("retry-after")).toBe("1");
    expect(json).toEqual({
      error: 50300,
      message: "The server is overloaded and did not store the plant; retrying in 1 second is safe.",
    });
  }
  const stored = new Set((await exported(server.database)).match(/(?<="id":)-?\d+/g));
  for (const [index, { status }] of answers.entries())
    expect(stored.has(String(ids[index]))).toBe(status === 200);
});

test.each([
  ["announced", "Content-Length: 50", "{", " ".repeat(49)],
  ["chunked", "Transfer-Encoding: chunked", "1\r\n{\r\n", "1\r\n \r\n0\r\n\r\n"],
])("past a full queue a body that is %s is not waited for, and its connection stays good", async (...how) => {
  await using server = await startInProcess({ limits: { queuePlantsMax: 0 } });
  const [, framing, beginning, rest] = how;
  const connection = await stuckCreate(await server.target(), framing, beginning);
  const refused = await connection.until((received) => (received.endsWith("}") ? received : undefined));
  expect(refused).toStartWith("HTTP/1.1 503 Service Unavailable\r\n");
  expect(refused).toContain("Retry-After: 1\r\n");
  expect(refused).toContain(
    '{"error":50300,"message":"The server is overloaded and did not store the plant;',
  );
  connection.write(`${rest}GET /next HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
  expect((await connection.closed).match(/HTTP\/1.1 \d+/g)).toEqual(["HTTP/1.1 503", "HTTP/1.1 401"]);
});

test("a body that does not arrive in time is 40800, and its connection is closed", async () => {
  await using server = await startInProcess({ limits: { arrivalSecondsMax: 1 } });
  const target = await server.target();
  const connection = await stuckCreate(target, "Content-Length: 50", "{");
  // Some bytes at intervals, so that the connection is never idle.
  const trickle = setInterval(() => connection.write(" "), 200);
  const answer = await connection.closed;
  clearInterval(trickle);
  expect(answer).toStartWith("HTTP/1.1 408 Request Timeout\r\n");
  expect(answer.toLowerCase()).toContain("connection: close\r\n");
  expect(answer).toEndWith(
    '{"error":40800,"message":"The body did not arrive within 1 second; sending it again is safe."}',
  );
});

test.each([
  ["announced", "Content-Length: 1000000", "x".repeat(900_000)],
  ["chunked", "Transfer-Encoding: chunked", `dbba0\r\n${"x".repeat(0xdbba0)}`],
])("past the bytes in flight a body that is %s is 50300, until there is room again", async (...how) => {
  await using server = await startInProcess({ limits: { inFlightBytesMax: 1_100_000 } });
  const target = await server.target();
  const [, framing, beginning] = how;
  const connection = await stuckCreate(target, framing, beginning);
  await untilBodyBytes(server, 900_000);
  const large = plantJson(freshId(), "x".repeat(300_000));
  expect(await post(target, large)).toMatchObject({
    status: 503,
    json: {
      error: 50300,
      message:
        "The server has too many bodies to read and did not read this one; retrying in 1 second is safe.",
    },
  });
  const other = await server.target();
  expect((await post(other, plantJson(freshId(), "small"))).status).toBe(200);
  connection.terminate();
  await untilBodyBytes(server, 0, 0);
  expect((await post(target, large)).status).toBe(200);
});

test.each(["Content-Length: 1000000", "Transfer-Encoding: chunked"])(
  "%s: memory is reserved for the whole body, others have theirs, and what has no room is closed",
  async (framing) => {
    await using server = await startInProcess({ limits: { inFlightBytesMax: 8_400_000 } });
    const one = await server.target();
    const beginning = framing.startsWith("T") ? "1\r\n{\r\n" : "{";
    const open = (length: number) =>
      Promise.all(Array.from({ length }, () => stuckCreate(one, framing, beginning)));
    // Seven eighths for one caller.
    const kept = await open(7);
    await untilBodyBytes(server, 7_000_000);
    for (const { closed } of await open(30)) {
      const answer = await closed;
      expect(answer).toStartWith("HTTP/1.1 503 Service Unavailable\r\n");
      expect(answer).toContain("Retry-After: 1\r\n");
      expect(answer.toLowerCase()).toContain("connection: close\r\n");
    }
    const other = await server.target();
    expect((await post(other, plantJson(freshId(), "x".repeat(900_000)))).status).toBe(200);
    for (const connection of kept) connection.terminate();
    await untilBodyBytes(server, 0, 0);
  },
);

test("past connectionsMax idle connections are closed, busy ones after their response, and no new one is refused", async () => {
  await using server = await RunningServer.startInProcess({ args: ["--connections-max", "10"] });
  const target = await server.target();
  const idle = await Promise.all(Array.from({ length: 5 }, () => RawConnection.open(server.url)));
  for (const connection of idle) {
    connection.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    await connection.until((received) => (received === "" ? undefined : received));
  }
  const stuck = await Promise.all(
    Array.from({ length: 20 }, () => stuckCreate(target, "Content-Length: 29", '{"id":1,"name":"Monster')),
  );
  const shed = await server.logged(({ msg }) => msg.startsWith("too many connections"));
  expect(shed.level).toBe("warn");
  // Before the stuck creates time out.
  await Promise.all(idle.map(({ closed }) => closed));
  const { status, headers } = await post(target, plantJson(2n, "Monstera"));
  expect({ status, connection: headers.get("connection") }).toEqual({ status: 200, connection: "close" });
  for (const connection of stuck) connection.write('a"}   ');
  for (const { closed } of stuck) expect(await closed).toStartWith("HTTP/1.1 200 OK\r\n");
  await eventually(
    "a connection is kept after its response",
    async () => (await post(target, plantJson(2n, "Monstera"))).headers.get("connection"),
    (connection) => connection !== "close",
  );
});
