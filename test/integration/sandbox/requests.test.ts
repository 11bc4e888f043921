// Control of the log of requests: its list, its cursor, and the bytes of each message.

import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import type { RecordedRequest } from "../../../packages/sandbox/src/index.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningSandbox, requestPage } from "../../support/sandbox.ts";

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
});

test.each([
  ["limit=0", 'limit must be an integer from 1 to 1000, but is "0".'],
  ["after=x", 'after must be an integer from 0 to 9223372036854775807, but is "x".'],
  ["wait=31", 'wait must be an integer from 0 to 30, but is "31".'],
  ["since=1", '"since" is not a parameter of GET /sandbox/requests; it has after, limit, wait.'],
])("%s is rejected with a sentence", async (query, message) => {
  const { status, json } = await sandbox.control("GET", `/requests?${query}`);
  expect([status, json]).toEqual([400, { message }]);
});
