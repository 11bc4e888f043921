// Requests to the admin listener at full speed on many connections: creates continue.

import { expect, setDefaultTimeout, test } from "bun:test";
import { statSync } from "node:fs";
import { freshId, plantJson, post, type Target } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";

setDefaultTimeout(120_000);

const connections = 50;
/** With its header, in the write-ahead log. */
const pageBytes = 4_096 + 24;

/** Repeats a request in a closed loop on several connections until the work is done. Resolves with the responses. */
async function asking<T>(
  ask: () => Promise<Response>,
  work: () => Promise<T>,
): Promise<{ answers: number; result: T }> {
  let answers = 0;
  let isDone = false;
  const all = Array.from({ length: connections }, async () => {
    while (!isDone) {
      await (await ask()).arrayBuffer();
      answers++;
    }
  });
  const result = await work();
  isDone = true;
  await Promise.all(all);
  return { answers, result };
}

/** Plants that four clients create in a time. */
async function createsIn(target: Target, ms: number): Promise<number> {
  const end = performance.now() + ms;
  let creates = 0;
  const create = async () => {
    while (performance.now() < end) {
      expect((await post(target, plantJson(freshId(), "Monstera"))).status).toBe(200);
      creates++;
    }
  };
  await Promise.all(Array.from({ length: 4 }, create));
  return creates;
}

test("a thousand requests for readiness cause one or two commits a second", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using server = await RunningServer.start({ database: `sqlite:${path}` });
  const url = `${await server.adminUrl()}/readyz`;
  expect((await fetch(url)).status).toBe(200);
  const before = statSync(`${path}-wal`).size;
  const begin = performance.now();
  let asked = 0;
  const ask = async () => {
    while (asked++ < 1_000) expect((await fetch(url)).status).toBe(200);
  };
  await Promise.all(Array.from({ length: connections }, ask));
  const seconds = (performance.now() - begin) / 1_000;
  const commits = (statSync(`${path}-wal`).size - before) / pageBytes;
  expect(commits).toBeLessThanOrEqual(Math.ceil(seconds) + 1);
});

const asked: readonly { request: string; body?: string }[] = [
  { request: "GET /readyz" },
  { request: "GET /metrics" },
  { request: "GET /livez" },
  { request: "GET /nowhere" },
  { request: "GET /console/" },
  { request: "GET /console/api/session" },
  { request: "POST /console/api/session", body: "{}" },
  { request: "GET /console/api/history" },
  { request: "GET /console/api/tokens" },
  { request: "POST /console/api/tokens/revoke", body: '{"name":"nobody"}' },
  { request: "GET /console/api/index" },
];

test.each(asked)("creates continue during $request on 50 connections", async ({ request, body }) => {
  const [method = "", path = ""] = request.split(" ");
  using folder = new TemporaryFolder();
  await using server = await RunningServer.start({ database: `sqlite:${folder.file("plants.db")}` });
  const target = { url: server.url, token: await server.createToken() };
  const url = (await server.adminUrl()) + path;
  const headers = { "Content-Type": "application/json", "X-Plantstore-Console": "1" };
  await createsIn(target, 200);
  // At least a third, in the best of several rounds: other processes may use the processors at any time.
  const shares: number[] = [];
  while (shares.length < 10 && Math.max(0, ...shares) < 1 / 3) {
    const alone = await createsIn(target, 300);
    const { answers, result } = await asking(
      () => fetch(url, { method, headers, ...(body === undefined ? {} : { body }) }),
      () => createsIn(target, 300),
    );
    expect(answers).toBeGreaterThan(0);
    shares.push(result / alone);
  }
  expect(Math.max(...shares)).toBeGreaterThanOrEqual(1 / 3);
});
