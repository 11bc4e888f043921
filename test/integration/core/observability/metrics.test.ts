// The metrics: requests are counted exactly, in a format that Prometheus accepts.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { eventually } from "../../../support/eventually.ts";
import { freshId, plantJson, post, send } from "../../../support/http.ts";
import { type InProcessServer, startInProcess } from "../../../support/in-process-server.ts";
import { rowsOf } from "../../../support/markdown.ts";
import { programPath, testIfInstalled } from "../../../support/programs.ts";
import { metricsOfClusters } from "../../../support/prometheus.ts";

async function scrape(server: InProcessServer): Promise<{ text: string; sample: (name: string) => number }> {
  const { status, headers, text } = await sendText(`${server.adminUrl}/metrics`);
  expect(status).toBe(200);
  expect(headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const sample = (name: string) => {
    const line = text.split("\n").find((one) => one.startsWith(`${name} `));
    return line === undefined ? Number.NaN : Number(line.slice(name.length + 1));
  };
  return { text, sample };
}

const resources = new AsyncDisposableStack();
/** For tests whose figures other requests do not change. */
let shared: InProcessServer;
beforeAll(async () => {
  shared = resources.use(await startInProcess());
});
afterAll(() => resources.disposeAsync());

async function sendText(url: string): Promise<{ status: number; headers: Headers; text: string }> {
  const response = await fetch(url);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

test("creates by outcome, errors by code, latencies and batches are counted", async () => {
  await using server = await startInProcess();
  const target = await server.target();
  await Promise.all(Array.from({ length: 50 }, (_, id) => post(target, plantJson(BigInt(id), "Monstera"))));
  await post(target, plantJson(7n, "Monstera"));
  await post(target, plantJson(7n, "Ficus"));
  await post(target, "{");
  await send(`${server.url}/nowhere`);

  const { sample, text } = await scrape(server);
  const buckets = [...text.matchAll(/^plantstore_create_duration_seconds_bucket\{le="[^"]+"\} (\d+)$/gm)];
  const counts = buckets.map(([, count]) => Number(count));
  expect(counts.length).toBeGreaterThan(10);
  expect(counts).toEqual(counts.toSorted((one, other) => one - other));
  expect(sample('plantstore_creates_total{outcome="created"}')).toBe(50);
  expect(sample('plantstore_creates_total{outcome="unchanged"}')).toBe(1);
  expect(sample('plantstore_errors_total{error="40009"}')).toBe(1);
  expect(sample('plantstore_errors_total{error="40001"}')).toBe(1);
  expect(sample('plantstore_errors_total{error="40100"}')).toBe(1);
  expect(sample('plantstore_errors_total{error="50000"}')).toBe(0);
  expect(sample("plantstore_create_duration_seconds_count")).toBe(51);
  expect(sample("plantstore_create_duration_seconds_sum")).toBeGreaterThan(0);
  expect(sample('plantstore_create_duration_seconds_bucket{le="+Inf"}')).toBe(51);
  expect(sample("plantstore_batch_plants_sum")).toBe(52);
  expect(sample("plantstore_commit_duration_seconds_count")).toBe(sample("plantstore_batch_plants_count"));
  expect(sample("plantstore_queue_plants")).toBe(0);
  expect(sample("plantstore_body_bytes")).toBe(0);
  expect(sample("plantstore_store_bytes")).toBeGreaterThan(4_096);
  expect(sample("process_resident_memory_bytes")).toBeGreaterThan(10_000_000);
  expect(sample("nodejs_eventloop_lag_p99_seconds")).toBeGreaterThanOrEqual(0);
});

test("a client that disconnects before its response is counted", async () => {
  await using server = await startInProcess();
  const token = await server.createToken();
  const { hostname, port } = new URL(server.url);
  const socket = await Bun.connect({ hostname, port: Number(port), socket: { data: () => undefined } });
  socket.write(
    `POST /plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n{`,
  );
  const bytesInFlight = async () => (await scrape(server)).sample("plantstore_body_bytes");
  await eventually("50 bytes in flight", bytesInFlight, (bytes) => bytes === 50);
  socket.terminate();
  const aborted = async () => (await scrape(server)).sample("plantstore_requests_aborted_total");
  await eventually("one aborted request", aborted, (requests) => requests === 1);
  expect(await bytesInFlight()).toBe(0);
  expect((await scrape(server)).sample("plantstore_internal_errors_total")).toBe(0);
});

test("docs/operating.md lists every metric of the service with its meaning", async () => {
  const { text } = await scrape(shared);
  const isHere = (name: string) => !metricsOfClusters.includes(name);
  const metrics = [...text.matchAll(/^# HELP (plantstore_\S+) (.*)$/gm)].map(([, name = "", help = ""]) => [
    name,
    help,
  ]);
  const page = await Bun.file(new URL("../../../../docs/operating.md", import.meta.url)).text();
  const rows = rowsOf(page, /^\| `plantstore_/).map(([name = "", ...cells]) => [
    name.replaceAll("`", ""),
    ...cells,
  ]);
  expect(metrics.length).toBeGreaterThan(10);
  expect(rows.filter(([name = ""]) => isHere(name))).toEqual(metrics.filter(([name = ""]) => isHere(name)));
});

testIfInstalled(
  "promtool",
  "promtool accepts the metrics",
  async () => {
    await post(await shared.target(), plantJson(freshId(), "Monstera"));
    const { text } = await scrape(shared);
    const check = Bun.spawnSync([programPath("promtool"), "check", "metrics"], {
      stdin: Buffer.from(text),
    });
    expect(check.stdout.toString() + check.stderr.toString()).toBe("");
    expect(check.exitCode).toBe(0);
  },
  "prometheus",
);
