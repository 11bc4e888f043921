// Control of the log of requests: its list, its cursor, its stream, and the bytes of each message.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { RecordedRequest } from "../../../packages/sandbox/src/index.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { loggedBytes, RunningSandbox, requestPage } from "../../support/sandbox.ts";

const resources = new AsyncDisposableStack();
let sandbox: RunningSandbox;
beforeAll(async () => {
  sandbox = resources.use(await RunningSandbox.startInProcess());
});
afterAll(() => resources.disposeAsync());

/** The cursor behind the requests of earlier tests. */
let start = 0;
beforeEach(async () => {
  const { json } = await sandbox.control("GET");
  start = Number((json as { requests: { next: bigint } }).requests.next);
});

async function create(...ids: readonly number[]): Promise<void> {
  for (const id of ids) await post(sandbox, plantJson(BigInt(id), "Monstera"));
}

const targetsOf = (requests: readonly RecordedRequest[]) =>
  requests.map(({ request }) => JSON.parse(request.body ?? "{}").id);

test("a request is in the list as soon as its response has arrived; the cursor returns later ones", async () => {
  await create(1);
  const first = await requestPage(sandbox, `?after=${start}`);
  expect(first).toMatchObject({ requests: [{ number: start + 1 }], next: start + 1, dropped: 0 });
  expect(await requestPage(sandbox, `?after=${first.next}`)).toEqual({
    requests: [],
    next: first.next,
    dropped: 0,
  });
  await create(2, 3, 4);
  const two = await requestPage(sandbox, `?after=${first.next}&limit=2`);
  expect([targetsOf(two.requests), two.next]).toEqual([[2, 3], start + 3]);
  expect(targetsOf((await requestPage(sandbox, `?after=${two.next}`)).requests)).toEqual([4]);
});

test("wait returns with the next request, or after its time without one", async () => {
  const waiting = requestPage(sandbox, `?after=${start}&wait=30`);
  await Bun.sleep(20);
  await create(5);
  expect(targetsOf((await waiting).requests)).toEqual([5]);
  expect((await requestPage(sandbox, `?after=${start + 1}&wait=1`)).requests).toEqual([]);
});

test("the bytes of a request and of its response", async () => {
  await create(6);
  const request = (await loggedBytes(sandbox, start + 1, "request")).toString();
  expect(request).toStartWith("POST /plants HTTP/1.1\r\n");
  expect(request).toEndWith('\r\n\r\n{"id":6,"name":"Monstera"}');
  const response = await fetch(`${sandbox.controlUrl}/requests/${start + 1}/response`);
  expect(response.headers.get("content-type")).toBe("application/octet-stream");
  expect(await response.text()).toStartWith("HTTP/1.1 200 OK\r\n");
});

test("an emptied log says how many requests are no longer there, and its numbers continue", async () => {
  await create(7, 8);
  expect((await sandbox.control("DELETE", "/requests")).status).toBe(204);
  expect((await sandbox.control("GET")).json).toMatchObject({
    requests: { first: BigInt(start + 3), next: BigInt(start + 2) },
  });
  expect(await requestPage(sandbox, `?after=${start}`)).toEqual({ requests: [], next: start, dropped: 2 });
  await create(9);
  const page = await requestPage(sandbox, `?after=${start}`);
  expect(page).toMatchObject({ requests: [{ number: start + 3 }], next: start + 3, dropped: 2 });
  const gone = await sandbox.control("GET", `/requests/${start + 1}/request`);
  expect([gone.status, gone.json]).toEqual([
    404,
    { message: `There is no request ${start + 1} in the log, which has ${start + 3} to ${start + 3}.` },
  ]);
});

test.each([
  ["limit=0", 'limit must be a whole number from 1 on, but is "0".'],
  ["after=x", 'after must be a whole number from 0 on, but is "x".'],
  ["wait=31", 'wait must be a whole number from 0 to 30, but is "31".'],
])("%s is rejected with a sentence", async (query, message) => {
  const { status, json } = await sandbox.control("GET", `/requests?${query}`);
  expect([status, json]).toEqual([400, { message }]);
});

interface ServerSentEvent {
  readonly id?: string;
  readonly event: string;
  readonly data: string;
}

/** The events of a stream, until the reader has enough. */
async function* events(query: string, headers: Record<string, string> = {}): AsyncGenerator<ServerSentEvent> {
  const aborting = new AbortController();
  const response = await fetch(`${sandbox.controlUrl}/requests/stream${query}`, {
    headers,
    signal: aborting.signal,
  });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  try {
    let text = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      for (let end = text.indexOf("\n\n"); end !== -1; end = text.indexOf("\n\n")) {
        const lines = text.slice(0, end).split("\n");
        text = text.slice(end + 2);
        const fields = Object.fromEntries(lines.map((line) => line.split(/: (.*)/s)));
        if (fields.data !== undefined) yield fields as never;
      }
    }
  } finally {
    aborting.abort();
  }
}

test("the stream has an event for each request, and continues after Last-Event-ID", async () => {
  await create(10, 11);
  const seen: ServerSentEvent[] = [];
  const reading = (async () => {
    for await (const event of events(`?after=${start}`)) {
      seen.push(event);
      if (seen.length === 4) break;
    }
  })();
  await eventually("two requests are seen", () => seen.length >= 2);
  await create(12, 13);
  await reading;
  expect(seen.map(({ id, event }) => [Number(id), event])).toEqual(
    [1, 2, 3, 4].map((number) => [start + number, "request"]),
  );
  const { requests } = await requestPage(sandbox, `?after=${start}`);
  expect(seen.map(({ data }) => JSON.parse(data))).toEqual([...requests]);

  for await (const event of events(`?after=${start}`, { "Last-Event-ID": String(start + 3) })) {
    expect(event).toMatchObject({ id: String(start + 4), data: JSON.stringify(requests[3]) });
    break;
  }
});

test("a stream says which requests its reader has missed", async () => {
  await create(14, 15);
  await sandbox.control("DELETE", "/requests");
  await create(16);
  const seen: ServerSentEvent[] = [];
  for await (const event of events(`?after=${start}`)) {
    seen.push(event);
    if (seen.length === 2) break;
  }
  expect(seen).toMatchObject([
    { event: "dropped", data: '{"requests":2}' },
    { event: "request", id: String(start + 3) },
  ]);
});

test("streams that are closed make room for others, and there is a limit", async () => {
  const open = async () => {
    const aborting = new AbortController();
    const response = await fetch(`${sandbox.controlUrl}/requests/stream`, { signal: aborting.signal });
    // A response that is collected as garbage closes its connection.
    return { response, status: response.status, aborting };
  };
  const streams = await Promise.all(Array.from({ length: 64 }, open));
  expect(new Set(streams.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await open()).status).toBe(503);
  for (const { response, aborting } of streams) {
    expect(response.bodyUsed).toBe(false);
    aborting.abort();
  }
  for (;;) {
    const { status, aborting } = await open();
    aborting.abort();
    if (status === 200) break;
    await Bun.sleep(10);
  }
});
