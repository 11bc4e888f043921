// The admin listener: an exception of a route is a response and a report, and not the end of
// anything else.

import { expect, test } from "bun:test";
import { startAdminServer } from "../../../src/admin/admin-server.ts";

test("an exception of a route is answered 500 and reported, and does not change the exit code of the process", async () => {
  const failure = new Error("too many open files");
  const reported: unknown[] = [];
  const server = startAdminServer({
    host: "127.0.0.1",
    port: 0,
    names: [],
    routes: [],
    assertReady: async () => [],
    metrics: { text: () => Promise.reject(failure) },
    onInternalError: (error) => reported.push(error),
  });
  try {
    const response = await fetch(`${server.url.origin}/metrics`);
    expect(response.status).toBe(500);
    expect(await response.json()).toEqual({ message: "Internal error; see the server's log." });
    expect(reported).toEqual([failure]);
    expect((await fetch(`${server.url.origin}/livez`)).status).toBe(200);
    expect(process.exitCode ?? 0).toBe(0);
  } finally {
    await server.stop(true);
  }
});

test("on loopback health and metrics are not for pages that call this machine by another name", async () => {
  const statusOf = async (host: string, name: string) => {
    const server = startAdminServer({
      host,
      port: 0,
      names: ["plants.example"],
      routes: [],
      assertReady: async () => [],
      metrics: { text: async () => "" },
      onInternalError: () => expect.unreachable(),
    });
    const paths = ["livez", "readyz", "metrics"];
    const responses = paths.map((path) => fetch(`${server.url.origin}/${path}`, { headers: { Host: name } }));
    const statuses = (await Promise.all(responses)).map(({ status }) => status);
    await server.stop(true);
    return [...new Set(statuses)];
  };
  expect(await statusOf("127.0.0.1", "evil.example:8081")).toEqual([421]);
  expect(await statusOf("127.0.0.1", "Plants.example:8081")).toEqual([200]);
  expect(await statusOf("127.0.0.1", "[::1]:8081")).toEqual([200]);
  expect(await statusOf("0.0.0.0", "plantstore-0.plants.svc:8081")).toEqual([200]);
});
