// The console of a server whose contract changes.

import { expect, test } from "bun:test";
import { TrustedProxies } from "../../../src/admin-pages/client-address.ts";
import { type ServerEvent, ServerEvents } from "../../../src/base/server-event.ts";
import { OperatorConsole } from "../../../src/console/operator-console.ts";
import { sampleMs } from "../../../src/console/reads/recent-samples.ts";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";
import { plantStore } from "../../support/contracts.ts";
import { readThings } from "../../support/descriptions.ts";

test("it serves the new contract, and its charts have the new collection", async () => {
  const things = await readThings({});
  await using before = new MemoryStore(plantStore, () => undefined);
  await using after = new MemoryStore(things, () => undefined);
  let store = before;
  let now = 0;
  const events = new ServerEvents();
  await using resources = new AsyncDisposableStack();
  const changing = new Proxy(before, {
    get: (_, name) => {
      const member = Reflect.get(store, name, store);
      return typeof member === "function" ? member.bind(store) : member;
    },
  });
  const console = new OperatorConsole({
    store: changing,
    events,
    now: () => now,
    wallNow: () => 0,
    names: [],
    trustedProxies: new TrustedProxies([]),
    passwordHash: undefined,
    bodyBytesMax: 1_000,
    version: "",
  });
  resources.defer(() => console.close());
  const read = async (path: string) => {
    const request = new Request(`http://localhost/console/api/${path}`, { headers: { Host: "localhost" } });
    const response = await console.handle(request, "::1");
    return (await response.json()) as {
      contract?: { service: string };
      plants?: unknown[];
      samples?: { created: number }[];
    };
  };
  expect((await read("session")).contract?.service).toBe("Plant Store");
  expect((await read("plants?count=1")).plants).toEqual([]);
  store = after;
  events.emit({ kind: "contractChanged" } as ServerEvent);
  expect((await read("session")).contract?.service).toBe("Things");
  expect((await read("plants?count=1&collection=things")).plants).toEqual([]);
  const request = { requestId: "", traceparent: null, method: "POST", path: "/things", caller: undefined };
  const operation = { operationId: "", path: "/things" };
  const times = { startedAt: 0, endedAt: 1, status: 200, result: "created" } as const;
  events.emit({ kind: "requestCompleted", request: { ...request, operation, ...times } });
  now = 2 * sampleMs;
  expect((await read("history?collection=things")).samples?.[0]?.created).toBe(1);
});
