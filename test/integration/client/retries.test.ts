// Trying again: against servers that are really overloaded, rate-limited or gone for a while, and
// how long it pauses.

import { describe, expect, test } from "bun:test";
import {
  PlantStoreClient,
  PlantStoreError,
  PlantStoreNetworkError,
  type RetryInfo,
} from "../../../packages/client/src/index.ts";
import { parseRetryAfter, retryDelayMs } from "../../../packages/client/src/retry.ts";
import { rejectionOf, startClientTarget } from "../../support/client.ts";
import { eventually } from "../../support/eventually.ts";
import { reservePort } from "../../support/ports.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { exported } from "../../support/stored-plants.ts";
import { CannedListener } from "./listeners.ts";

const plant = { id: 1n, name: "Monstera" };
const busy = '{"error":50300,"message":"The server is overloaded."}';

test.each([
  { code: 50300, args: ["--queue-plants-max", "1"], count: 12, name: "x".repeat(10_000), backoffMs: 500 },
  { code: 42900, args: ["--token-rate", "3"], count: 6, name: "Monstera", backoffMs: 100 },
])(
  "$code is retried after Retry-After, until every plant is stored",
  async ({ code, args, count, name, backoffMs }) => {
    await using target = await startClientTarget(...args);
    const errors: unknown[] = [];
    const onRetry = ({ error }: RetryInfo) => errors.push(error);
    const client = target.client({ onRetry, maxRetries: 100, backoffMs });
    const start = performance.now();
    await Promise.all(Array.from({ length: count }, (_, id) => client.createPlant({ id, name })));
    expect(performance.now() - start).toBeGreaterThan(1_000);
    expect((await exported(target.server.database)).match(/"id":/g)).toHaveLength(count);
    expect(errors).not.toEqual([]);
    for (const error of errors) {
      expect(error).toBeInstanceOf(PlantStoreError);
      expect(error).toMatchObject({ code, status: Math.trunc(code / 100), retryAfterMs: 1_000 });
    }
  },
  30_000,
);

test("a server that is killed and restarted on its port has every created plant", async () => {
  using folder = new TemporaryFolder();
  const setup = {
    database: `sqlite:${folder.file("plants.db")}`,
    args: ["--port", String(reservePort())],
  };
  const first = await RunningServer.start(setup);
  const client = new PlantStoreClient({
    baseUrl: first.url,
    token: await first.createToken(),
    maxRetries: 1_000,
    maxBackoffMs: 100,
  });
  const created: string[] = [];
  const createdAtLeast = (wanted: number) =>
    eventually(
      `${wanted} created plants`,
      () => created.length,
      (plants) => plants >= wanted,
    );
  let stopped = false;
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let count = 0; !stopped; count++) {
      const id = BigInt(writer * 1_000_000 + count) << 20n;
      await client.createPlant({ id, name: "Monstera" });
      created.push(`{"id":${id},"name":"Monstera"}`);
    }
  });
  await createdAtLeast(50);
  await first.stop("SIGKILL");
  const before = created.length;
  await Bun.sleep(300);
  await using second = await RunningServer.start(setup);
  await createdAtLeast(before + 50);
  stopped = true;
  await Promise.all(writers);

  expect(before).toBeGreaterThan(0);
  const stored = new Set((await exported(second.database)).split("\n"));
  expect(created.filter((line) => !stored.has(line))).toEqual([]);
}, 30_000);

test.each([429, 502, 503, 504])("a proxy's page with %d is tried again as well", async (status) => {
  using listener = new CannedListener(["<html>", { status }], ['{"name":"Monstera"}']);
  const client = listener.client({ backoffMs: 1 });
  expect(await client.createPlant(plant)).toEqual({ name: "Monstera" });
  expect(listener.requests).toBe(2);
});

test("onRetry is called before each delay, with the error of the attempt", async () => {
  const port = reservePort();
  const retries: RetryInfo[] = [];
  const client = new PlantStoreClient({
    baseUrl: `http://127.0.0.1:${port}`,
    token: "pst_x",
    maxRetries: 3,
    backoffMs: 4,
    random: () => 0.5,
    onRetry: (retry) => retries.push(retry),
  });
  const error = await rejectionOf(client.createPlant(plant));
  expect(retries.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
    [1, 2],
    [2, 4],
    [3, 8],
  ]);
  for (const retry of retries) {
    expect(retry.error).toBeInstanceOf(PlantStoreNetworkError);
    expect(retry.error.message).toContain(`http://127.0.0.1:${port}/plants`);
  }
  // The last failure is not retried.
  expect(error).toBeInstanceOf(PlantStoreNetworkError);
  expect((error as PlantStoreNetworkError).cause).toBeInstanceOf(Error);
  expect(retries.map((retry): unknown => retry.error)).not.toContain(error);
});

test("onRetry gets the server's error and Retry-After", async () => {
  using listener = new CannedListener(
    [busy, { status: 503, headers: { "Retry-After": "0" } }],
    ['{"name":"Monstera"}'],
  );
  const retries: RetryInfo[] = [];
  const onRetry = (retry: RetryInfo) => retries.push(retry);
  const client = listener.client({ backoffMs: 0, onRetry });
  expect(await client.createPlant(plant)).toEqual({ name: "Monstera" });
  expect(retries).toMatchObject([{ attempt: 1, error: { code: 50300, retryAfterMs: 0 }, delayMs: 0 }]);
});

test("createPlant rejects with the error of onRetry", async () => {
  using listener = new CannedListener([busy, { status: 503 }], ['{"name":"Monstera"}']);
  const enough = new Error("enough");
  const client = listener.client({
    onRetry: () => {
      throw enough;
    },
  });
  expect(await rejectionOf(client.createPlant(plant))).toBe(enough);
  expect(listener.requests).toBe(1);
});

test.each([
  ["an error that no retry can change", 40009, 400, {}],
  ["any error without retries", 50300, 503, { maxRetries: 0 }],
])("%s is that of createPlant, and onRetry is not called", async (_, code, status, options) => {
  using listener = new CannedListener([JSON.stringify({ error: code, message: "No." }), { status }]);
  const onRetry = () => {
    throw new Error("It was called");
  };
  const client = listener.client({ ...options, onRetry });
  expect(await rejectionOf(client.createPlant(plant))).toMatchObject({ code, retryAfterMs: undefined });
  expect(listener.requests).toBe(1);
});

test.each([
  ["seconds", () => "3600"],
  ["an HTTP-date", () => new Date(Date.now() + 3_600_000).toUTCString()],
])("a Retry-After in %s beyond the deadline ends the create at once", async (_, value) => {
  using listener = new CannedListener([busy, { status: 503, headers: { "Retry-After": value() } }]);
  const client = listener.client();
  const start = performance.now();
  const error = await rejectionOf(client.createPlant(plant));
  expect(performance.now() - start).toBeLessThan(10_000);
  expect(error).toBeInstanceOf(PlantStoreError);
  expect((error as PlantStoreError).retryAfterMs).toBeGreaterThan(3_500_000);
  expect(listener.requests).toBe(1);
});

test("an HTTP-date within the deadline is waited for", async () => {
  const until = Math.ceil(Date.now() / 1_000) * 1_000 + 1_000;
  const headers = { "Retry-After": new Date(until).toUTCString() };
  using listener = new CannedListener([busy, { status: 503, headers }], ['{"name":"Monstera"}']);
  const client = listener.client({ backoffMs: 0 });
  const start = performance.now();
  await client.createPlant(plant);
  expect(performance.now() - start).toBeGreaterThan(900);
});

describe("the delay", () => {
  const pace = { backoffMs: 100, maxBackoffMs: 1_000 };
  const longest = (tries: number, retryAfterMs?: number) =>
    retryDelayMs(tries, retryAfterMs, { ...pace, random: () => 1 });

  test("doubles for each retry up to its limit, for any number of retries", () => {
    expect([1, 2, 3, 4, 5, 6, 5_000].map((tries) => longest(tries))).toEqual([
      100, 200, 400, 800, 1_000, 1_000, 1_000,
    ]);
  });

  test("is between 0 and that limit, by the random source", () => {
    expect(retryDelayMs(3, undefined, { ...pace, random: () => 0 })).toBe(0);
    expect(retryDelayMs(3, undefined, { ...pace, random: () => 0.25 })).toBe(100);
  });

  test("is at least Retry-After", () => {
    expect(retryDelayMs(3, 2_500, { ...pace, random: () => 0 })).toBe(2_500);
    expect(longest(3, 2_500)).toBe(2_900);
  });
});

test.each<[value: string, ms: number | undefined]>([
  ["0", 0],
  ["120", 120_000],
  ["Fri, 31 Dec 1999 23:59:59 GMT", 9_000],
  ["Friday, 31-Dec-99 23:59:59 GMT", 9_000],
  ["Fri Dec 31 23:59:59 1999", 9_000],
  ["Fri, 31 Dec 1999 23:59:00 GMT", 0],
  ["-1", undefined],
  ["2.5", undefined],
  ["soon", undefined],
  ["", undefined],
])("Retry-After: %s is read as %p milliseconds after Date", (value, ms) => {
  const headers = new Headers({ "Retry-After": value, Date: "Fri, 31 Dec 1999 23:59:50 GMT" });
  expect(parseRetryAfter(headers)).toBe(ms);
});
