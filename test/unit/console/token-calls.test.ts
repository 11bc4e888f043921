// The console's calls for tokens, on a store in memory.

import { expect, test } from "bun:test";
import { TokenCalls } from "../../../src/console/calls/token-calls.ts";
import { MemoryStore } from "../../../src/sandbox/memory-store.ts";
import { statusOf } from "../../support/console.ts";
import { plantStore } from "../../support/contracts.ts";

const dayMs = 86_400_000;

test("tokens are issued and revoked, and other requests are rejected with their reason", async () => {
  await using store = new MemoryStore(plantStore, () => undefined);
  let now = Date.UTC(2026, 0, 1);
  const tokens = new TokenCalls(store.tokens, () => now);
  const list = async () =>
    (await tokens.list()).map(({ name, state, expires }) => [name, state, Date.parse(expires ?? "") - now]);
  await tokens.issue({ name: "shop", expires: "90d" });
  now += dayMs;
  await tokens.issue({ name: "never ends", expires: "" });
  expect(new Set(await list())).toEqual(
    new Set([
      ["never ends", "active", Number.NaN],
      ["shop", "active", 89 * dayMs],
    ]),
  );

  expect(await statusOf(tokens.issue({ name: "shop", expires: "" }))).toBe(409);
  expect(await statusOf(tokens.issue({ name: "a\nb", expires: "" }))).toBe(400);
  expect(await statusOf(tokens.issue({ name: "x", expires: "yesterday" }))).toBe(400);
  for (const name of ["unknown", "a\0", "\ud800"]) expect(await statusOf(tokens.revoke({ name }))).toBe(404);
  await tokens.revoke({ name: "never ends" });
  now += 91 * dayMs;
  expect((await list()).map(([, state]) => state).toSorted()).toEqual(["expired", "revoked"]);
});
