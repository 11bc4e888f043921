// A sandbox under hostile clients: its memory is bounded, and it serves others.

import { expect, test } from "bun:test";
import { eventually } from "../../support/eventually.ts";
import { freshId, plantJson, post } from "../../support/http.ts";
import { Random } from "../../support/random.ts";
import { createHead, RawConnection, stuckCreate } from "../../support/raw-connection.ts";
import { RunningSandbox, requestPage } from "../../support/sandbox.ts";
import { readMetric } from "../../support/server.ts";

const MiB = 2 ** 20;

/** The log of requests has 64 MiB, and the messages in flight as many. */
const residentBytesMax = 450 * MiB;

function metric({ controlUrl }: RunningSandbox, name: string): Promise<number> {
  return readMetric(new URL(controlUrl).origin, name);
}

const residentBytes = (sandbox: RunningSandbox) => metric(sandbox, "process_resident_memory_bytes");
const descriptors = (sandbox: RunningSandbox) => metric(sandbox, "process_open_fds");

/** Waits until the sandbox has closed the connections of its clients. */
async function descriptorsAreBackTo(sandbox: RunningSandbox, before: number): Promise<void> {
  await eventually(
    "the descriptors are closed",
    () => descriptors(sandbox),
    (open) => open <= before + 10,
  );
}

async function expectServes(sandbox: RunningSandbox): Promise<void> {
  expect((await post(sandbox, plantJson(freshId(), "Monstera"))).status).toBe(200);
}

// Most of their time is waits for limits.
test.concurrent("responses that are not read, and bodies that do not end, take bounded memory", async () => {
  await using sandbox = await RunningSandbox.start();
  const before = await descriptors(sandbox);
  const greedy = await Promise.all(Array.from({ length: 20 }, () => RawConnection.open(sandbox.url)));
  for (const connection of greedy) {
    connection.pause();
    connection.write("GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n".repeat(20_000));
  }
  const stuck = await Promise.all(
    Array.from({ length: 200 }, () =>
      stuckCreate({ url: sandbox.url, token: "x" }, "Content-Length: 1048576", "x".repeat(1_000_000)),
    ),
  );
  await Bun.sleep(2_000);
  for (let count = 0; count < 50; count++) await expectServes(sandbox);
  expect(await residentBytes(sandbox)).toBeLessThan(residentBytesMax);
  for (const connection of [...greedy, ...stuck]) connection.terminate();
  await descriptorsAreBackTo(sandbox, before);
  const { requests } = await requestPage(sandbox, "?limit=1000");
  expect(requests.length).toBeGreaterThan(0);
  await expectServes(sandbox);
});

test.concurrent("a log that is full takes bounded memory", async () => {
  await using sandbox = await RunningSandbox.start();
  const name = "x".repeat(200_000);
  for (let count = 0; count < 400; count++) await post(sandbox, plantJson(1n, name));
  expect(await residentBytes(sandbox)).toBeLessThan(residentBytesMax);
  const page = await requestPage(sandbox);
  expect(page.dropped).toBeGreaterThan(100);
  expect(page.requests[0]?.number).toBe(page.dropped + 1);
});

test.concurrent("clients that reset their connections, resets of the sandbox and changing rules, all at once", async () => {
  await using sandbox = await RunningSandbox.start();
  const random = new Random(3);
  const before = await descriptors(sandbox);
  const outcomes = [
    { error: 50300 },
    { error: 50000, commit: true },
    { drop: "beforeCommit" },
    { drop: "afterCommit" },
    { body: "truncated" },
    { body: "wrongLength", bytesPerSecond: 2_000 },
    { delay: { uniform: [0, 0.05] } },
    { delay: { exponential: { mean: 0.02 }, when: "after" } },
  ];
  let isDone = false;
  const client = async () => {
    while (!isDone) {
      const connection = await RawConnection.open(sandbox.url);
      const body = plantJson(BigInt(random.below(50)), "Monstera");
      const bytes = createHead(sandbox, `Content-Length: ${body.length}`) + body;
      connection.write(bytes.slice(0, random.chance(0.3) ? random.below(bytes.length) : bytes.length));
      await Bun.sleep(random.below(20));
      connection.terminate();
    }
  };
  const clients = Array.from({ length: 16 }, client);
  const started = performance.now();
  while (performance.now() - started < 3_000) {
    const rules = outcomes.map((outcome) => ({ match: { share: 0.2 }, outcome }));
    expect((await sandbox.control("PUT", "/rules", { seed: random.below(1_000), rules })).status).toBe(200);
    await Bun.sleep(random.below(20));
    expect((await sandbox.control("POST", "/reset")).status).toBe(204);
  }
  isDone = true;
  await Promise.all(clients);
  await descriptorsAreBackTo(sandbox, before);
  await sandbox.control("POST", "/reset");
  await expectServes(sandbox);
  expect(await sandbox.plants()).toHaveLength(1);
  const { exitCode, stderr } = await sandbox.stop();
  expect(exitCode).toBe(0);
  expect(
    stderr.match(/"level":"error".*/g)?.filter((line) => !line.includes("forced by the sandbox")),
  ).toBeOneOf([undefined, []]);
});
