// The metrics: requests are counted exactly, in a format that Prometheus accepts.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { eventually } from "../../support/eventually.ts";
import { freshId, plantJson, post, send, sendTo } from "../../support/http.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process-server.ts";
import { programPath, testIfInstalled } from "../../support/programs.ts";
import { stuckCreate } from "../../support/raw-connection.ts";
import { RunningServer } from "../../support/server.ts";

async function scrape({ adminUrl }: InProcessServer): Promise<string> {
  const response = await fetch(`${adminUrl}/metrics`);
  expect(response.status).toBe(200);
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  return await response.text();
}

/** The number of requests by the labels of their operation, ordered by these. */
async function requestsByOperation(server: RunningServer): Promise<Record<string, number>> {
  const text = await (await fetch(`${await server.adminUrl()}/metrics`)).text();
  const samples = text.matchAll(/^plantstore_request_duration_seconds_count(\{.*\}) (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, operation, count]) => [operation, Number(count)]));
}

const resources = new AsyncDisposableStack();
/** For tests whose figures other requests do not change. */
let shared: InProcessServer;
beforeAll(async () => {
  shared = resources.use(await startInProcess());
});
afterAll(() => resources.disposeAsync());

test("creates by outcome, errors by code, latencies and batches are counted", async () => {
  await using server = await startInProcess();
  const target = await server.target();
  await Promise.all(Array.from({ length: 50 }, (_, id) => post(target, plantJson(BigInt(id), "Monstera"))));
  await post(target, plantJson(7n, "Monstera"));
  await post(target, plantJson(7n, "Ficus"));
  await post(target, "{");
  await send(`${server.url}/nowhere`);

  const text = await scrape(server);
  const samples = new Map(text.split("\n").map((line) => line.split(" ") as [string, string]));
  const sample = (name: string) => Number(samples.get(name));
  const buckets = [
    ...text.matchAll(/^plantstore_request_duration_seconds_bucket\{operation="create",le="[^"]+"\} (\d+)$/gm),
  ];
  const counts = buckets.map(([, count]) => Number(count));
  expect(counts.length).toBeGreaterThan(10);
  expect(counts).toEqual(counts.toSorted((one, other) => one - other));
  expect(sample('plantstore_creates_total{outcome="created"}')).toBe(50);
  expect(sample('plantstore_creates_total{outcome="unchanged"}')).toBe(1);
  expect(sample('plantstore_errors_total{error="40009"}')).toBe(1);
  expect(sample('plantstore_errors_total{error="40001"}')).toBe(1);
  expect(sample('plantstore_errors_total{error="40100"}')).toBe(1);
  expect(sample('plantstore_errors_total{error="50000"}')).toBe(0);
  expect(sample('plantstore_request_duration_seconds_count{operation="create"}')).toBe(51);
  expect(sample('plantstore_request_duration_seconds_sum{operation="create"}')).toBeGreaterThan(0);
  expect(sample('plantstore_request_duration_seconds_bucket{operation="create",le="+Inf"}')).toBe(51);
  expect(sample("plantstore_batch_plants_sum")).toBe(52);
  expect(sample("plantstore_commit_duration_seconds_count")).toBe(sample("plantstore_batch_plants_count"));
  expect(sample("plantstore_queue_plants")).toBe(0);
  expect(sample("plantstore_body_bytes")).toBe(0);
  expect(sample("plantstore_store_bytes")).toBeGreaterThan(4_096);
  expect(sample("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
  expect(sample("nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
});

test("the duration of each operation is measured, by its collection where there are several", async () => {
  await using one = await RunningServer.startInProcess({ args: ["--operations", "create,list,get,delete"] });
  expect(await requestsByOperation(one)).toEqual({
    '{operation="create"}': 0,
    '{operation="delete"}': 0,
    '{operation="get"}': 0,
    '{operation="list"}': 0,
  });
  const target = await one.target();
  await post(target, plantJson(1n, "Monstera"));
  await sendTo(target, "GET", "/plants");
  await sendTo(target, "GET", "/plants/2");
  // What fails is counted by its error.
  expect(await requestsByOperation(one)).toMatchObject({
    '{operation="create"}': 1,
    '{operation="get"}': 0,
    '{operation="list"}': 1,
  });

  const contract = new URL("../../contracts/hotel.yaml", import.meta.url).pathname;
  await using several = await RunningServer.startInProcess({ args: ["--contract", contract] });
  const names = Object.keys(await requestsByOperation(several));
  expect(names).toContain('{operation="create",collection="rooms"}');
  expect(names).toContain('{operation="list",collection="guests"}');
});

test("a client that disconnects before its response leaves no memory in use, and is no error", async () => {
  await using server = await startInProcess();
  const connection = await stuckCreate(await server.target(), "Content-Length: 50", "{");
  const bytesInFlight = () => server.metric("plantstore_body_bytes");
  await eventually("50 bytes in flight", bytesInFlight, (bytes) => bytes === 50);
  connection.terminate();
  await eventually("no bytes in flight", bytesInFlight, (bytes) => bytes === 0);
  expect(await server.metric("plantstore_internal_errors_total")).toBe(0);
});

testIfInstalled("promtool", "promtool accepts the metrics", async () => {
  await post(await shared.target(), plantJson(freshId(), "Monstera"));
  const text = await scrape(shared);
  const check = Bun.spawnSync([programPath("promtool"), "check", "metrics"], {
    stdin: Buffer.from(text),
  });
  expect(check.stdout.toString() + check.stderr.toString()).toBe("");
  expect(check.exitCode).toBe(0);
});
