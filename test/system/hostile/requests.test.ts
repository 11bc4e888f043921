// Hostile requests and 100 MB of rejected bodies: each has an allowed outcome, all requests of a
// well-behaved client succeed, memory stays bounded, and descriptors are released.

import { afterAll, expect, test } from "bun:test";
import { exchange } from "./hostile-client.ts";
import { HostileSession, residentBytesMax } from "./hostile-session.ts";
import { badBodies, fill, firstId, framing, heads } from "./requests.ts";

/** The server's memory would show a part of them. */
const masses = Array(100).fill(badBodies.find(({ name }) => name.includes("brackets that stay open")));

const session = await HostileSession.start();
const before = await session.footprint();
afterAll(() => session[Symbol.asyncDispose]());

test.each([
  ["framing", framing],
  ["request lines, headers and credentials", heads],
  ["bodies", badBodies],
  ["masses of bytes", masses],
])("hostile %s: each outcome is allowed, and nothing is held", async (_, requests) => {
  expect(await session.hostile.unexpected(requests)).toEqual([]);
  await session.holdsNothing();
});

test("the admin listener rejects them all", async () => {
  const url = await session.server.adminUrl();
  const found: string[] = [];
  for (const { name, bytes } of [...framing, ...heads, ...badBodies]) {
    const outcomes = await exchange(url, fill(bytes, { id: firstId, ...session.target }));
    if (outcomes.some((outcome) => /^(?:created|served|[235])/.test(outcome)))
      found.push(`${name}: ${outcomes}`);
  }
  expect(found).toEqual([]);
});

test("nothing of them is held after their responses", async () => {
  expect((await session.footprint()).residentBytes).toBeLessThan(residentBytesMax);
  await session.descriptorsAreBackTo(before);
});

test("the well-behaved client was not affected, and the store holds exactly what was acknowledged", async () => {
  expect(await session.faults()).toEqual([]);
});
