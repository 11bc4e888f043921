// The server as a library: the package starts it, and its three seams let others join.

import { expect, test } from "bun:test";
import { type Handler, makeToken, openServerStore, randomBytes, ServerEvents, startServer } from "plantstore";
import { shelfFields, shelves } from "../../support/contracts.ts";
import { eventually } from "../../support/eventually.ts";
import { post, send } from "../../support/http.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { stuckCreate } from "../../support/raw-connection.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";
import { openedStore } from "../../support/stored-plants.ts";

const plant = '{"id": 9007199254740993, "name": "Monstera deliciosa"}';

test("a program that imports the package starts the service, and creates a plant", async () => {
  using folder = new TemporaryFolder();
  const ignore = () => undefined;
  const reports = { onUnavailable: ignore, onTaskFailed: ignore, onFailed: ignore };
  await using store = await openServerStore(`sqlite:${folder.file("plants.db")}`, "create", reports);
  const { token, record } = makeToken({ name: "own", expiresAt: null }, { now: Date.now(), randomBytes });
  await store.tokens.add(record);
  const events = new ServerEvents();
  const results: (string | number)[] = [];
  events.subscribe((event) => {
    if (event.kind === "requestCompleted") results.push(event.request.result);
  });
  const server = await startServer({ store, events, basePath: "/v1" });
  expect((await post({ url: server.url, token }, plant)).json).toEqual({ name: "Monstera deliciosa" });
  // Without a socket.
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const again = new Request("http://x/v1/plants", { method: "POST", headers, body: plant });
  expect((await server.fetch(again)).status).toBe(200);
  expect(results).toEqual(["created", "unchanged"]);
  await server.stop();
});

test("paths and base paths are literal: with a colon, an asterisk, or percent-encoding", async () => {
  const { paths, ...rest } = JSON.parse(shelves(shelfFields).text);
  const other = { post: { responses: {} } };
  const all = { ...paths, "/caf%c3%a9": other, "/50%-off/{id}": other, "/a%2Fb": other };
  using folder = new TemporaryFolder();
  const database = `sqlite:${folder.file("shelves.db")}`;
  const source = { text: JSON.stringify({ ...rest, paths: all }) };
  const store = await openedStore(database, undefined, source);
  await using server = await startInProcess({ store, basePath: "/:v/*" });
  const { url, token } = await server.target();
  const { origin } = new URL(url);
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const init = { method: "POST", headers, body: '{"id":1,"name":"top"}' };
  const statusOf = async (path: string) => (await fetch(origin + path, init)).status;
  expect(await statusOf("/:v/*/shelves")).toBe(200);
  for (const path of ["/caf%c3%a9", "/50%25-off/1", "/a%2Fb"])
    expect(await statusOf(`/:v/*${path}`)).toBe(501);
  for (const path of ["/v1/x/shelves", "/:v/*/a/b"]) expect(await statusOf(path)).toBe(404);
});

test("a handler around the handler sees each request and the origin", async () => {
  const seen: unknown[] = [];
  const wrapHandler =
    (next: Handler): Handler =>
    async (request, connection) => {
      seen.push(connection.origin);
      if (request.headers.has("x-tea")) return new Response("no coffee", { status: 418 });
      return next(request, connection);
    };
  await using server = await startInProcess({ wrapHandler });
  const target = await server.target();
  expect((await post(target, plant)).status).toBe(200);
  expect((await fetch(`${target.url}/plants`, { headers: { "X-Tea": "1" } })).status).toBe(418);
  expect(seen).toEqual([server.url, server.url]);
});

test.each([
  ["rejects", () => Promise.reject(new Error("broken"))],
  [
    "throws",
    () => {
      throw new Error("broken");
    },
  ],
] as const)(
  "a handler before the service that %s gets 50000, and its stack is in the log only",
  async (_, handle) => {
    await using server = await startInProcess({ wrapHandler: () => handle });
    const { status, text, json, headers } = await post(await server.target(), plant);
    expect({ status, json }).toMatchObject({ status: 500, json: { error: 50000 } });
    expect(text).not.toContain("broken");
    const requestId = headers.get("x-request-id") ?? "none";
    expect(server.events).toContainEqual({ kind: "internalError", requestId, error: new Error("broken") });
  },
);

test("routes of the admin listener are beside those of the server", async () => {
  const adminRoutes = [
    {
      paths: ["/own/*"],
      handle: () => Response.json("own"),
    },
  ];
  await using server = await startInProcess({ adminRoutes });
  expect((await send(`${server.adminUrl}/own/thing`)).json).toBe("own");
  expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200);
});

test("an address that is taken rejects the start, and leaves nothing open", async () => {
  await using first = await startInProcess();
  const port = Number(new URL(first.url).port);
  expect(await settled(startInProcess({ listener: { port } }))).toThrow(
    expect.objectContaining({
      listener: "public",
      code: "EADDRINUSE",
    }),
  );
});

test("a server that stops is not ready, accepts no new connections, and completes what it has accepted", async () => {
  await using server = await startInProcess();
  const target = await server.target();
  const stuck = await stuckCreate(target, `Content-Length: ${plant.length}`, plant.slice(0, 5));
  const bodyBytes = () => server.metric("plantstore_body_bytes");
  await eventually("the server reads the body", bodyBytes, (bytes) => bytes > 0);
  const stopping = server.server.stop();
  const ready = await fetch(`${server.adminUrl}/readyz`);
  expect([ready.status, await ready.text()]).toEqual([503, "not ready: the server is stopping\n"]);
  expect(await settled(post(target, plant))).toThrow();
  stuck.write(plant.slice(5));
  expect(await stuck.closed).toStartWith("HTTP/1.1 200 OK\r\n");
  await stopping;
});
