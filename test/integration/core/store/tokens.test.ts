// The tokens of every engine: rotations and their undoing, last uses, changes and removal.

import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { isActive } from "../../../../src/core/auth/token.ts";
import type { TokenStore } from "../../../../src/core/store/sql-tokens.ts";
import {
  effectiveExpiry,
  endedTokenRetentionMs,
  type Rotated,
  type RotationOutcome,
  type TokenRecord,
} from "../../../../src/core/store/token-store.ts";
import { engines } from "../../../support/engines.ts";
import { openedStore } from "../../../support/stored-plants.ts";

const day = 86_400_000;

/** Removes what ended before a moment, some rows at a time; how many. */
async function removeEnded(tokens: TokenStore, endedBefore: number, rowsMax: number): Promise<number> {
  let removed = 0;
  for (let count = 1; count > 0; removed += count) count = await tokens.removeEnded(endedBefore, rowsMax);
  return removed;
}

for (const engine of engines) {
  describe(engine.name, () => {
    async function withStores(count: number, use: (tokens: TokenStore[]) => Promise<void>): Promise<void> {
      await using place = await engine.createTestStore();
      await using opened = new AsyncDisposableStack();
      const stores: TokenStore[] = [];
      for (let index = 0; index < count; index++)
        stores.push(opened.use(await openedStore(place.database)).tokens);
      await use(stores);
    }
    const withTokens = (use: (tokens: TokenStore) => Promise<void>) =>
      withStores(1, ([tokens]) => use(tokens as TokenStore));

    const add = (tokens: TokenStore, hash: string, createdAt: number, expiresAt: number | null = null) =>
      tokens.add({ hash, name: "ci", createdAt, expiresAt });

    const rotate = (
      tokens: TokenStore,
      hash: string,
      rotatedAt: number,
      overlapMs: number,
      expiresAt?: number | null,
    ): Promise<RotationOutcome> =>
      tokens.rotate({ hash, name: "ci", rotatedAt, expiresAt, overlapEndsAt: rotatedAt + overlapMs });

    /** Of each token: its overlap's end, or that it is revoked. */
    async function ends(tokens: TokenStore): Promise<Record<string, number | null | "revoked">> {
      const records = await tokens.list();
      return Object.fromEntries(
        records.map(({ hash, overlapEndsAt, revokedAt }) => [
          hash,
          revokedAt === null ? overlapEndsAt : "revoked",
        ]),
      );
    }

    test("a rotation issues a token with the same lifetime, and ends the previous one, which may expire earlier", () =>
      withTokens(async (tokens) => {
        await add(tokens, "a", 1_000, 1_000 + 90 * day);
        expect(await rotate(tokens, "b", 2_000, 7 * day)).toEqual({
          token: { hash: "b", name: "ci", createdAt: 2_000, expiresAt: 2_000 + 90 * day },
          predecessorEndsAt: 2_000 + 7 * day,
        });
        expect(await rotate(tokens, "c", 3_000, 365 * day, 4_000)).toEqual({
          token: { hash: "c", name: "ci", createdAt: 3_000, expiresAt: 4_000 },
          predecessorEndsAt: 2_000 + 90 * day,
        });
        expect((await rotate(tokens, "d", 3_500, 0, null)) as Rotated).toMatchObject({
          token: { expiresAt: null },
        });
        expect((await rotate(tokens, "e", 3_600, 0)) as Rotated).toMatchObject({
          token: { expiresAt: null },
        });
      }));

    test("only the new token of a name outlives the overlap, however long an earlier overlap was", () =>
      withTokens(async (tokens) => {
        await tokens.add({ hash: "other", name: "other", createdAt: 1, expiresAt: null });
        await add(tokens, "a", 1_000);
        await rotate(tokens, "b", 2_000, 7 * day);
        await rotate(tokens, "c", 3_000, 1_000);
        await rotate(tokens, "d", 3_500, 7 * day);
        expect(await ends(tokens)).toEqual({
          other: null,
          a: 4_000,
          b: 4_000,
          c: 3_500 + 7 * day,
          d: null,
        });
      }));

    test("revoked, expired and unknown tokens are not rotated", () =>
      withTokens(async (tokens) => {
        expect(await rotate(tokens, "b", 2_000, day)).toBe("none");
        await add(tokens, "a", 1_000, 2_000);
        expect(await rotate(tokens, "b", 2_000, day)).toBe("expired");
        expect(await tokens.revoke("ci", 2_000)).toBe(true);
        expect(await rotate(tokens, "b", 2_000, day)).toBe("none");
        expect(await tokens.list()).toHaveLength(1);
      }));

    test("revoking a name revokes the new token and the old ones, and frees the name", () =>
      withTokens(async (tokens) => {
        await add(tokens, "a", 1_000);
        await rotate(tokens, "b", 2_000, day);
        expect(await add(tokens, "c", 3_000)).toBe(false);
        expect(await tokens.revoke("ci", 3_000)).toBe(true);
        expect(await tokens.revoke("ci", 3_000 + 1)).toBe(false);
        expect(await add(tokens, "c", 4_000)).toBe(true);
        expect(await ends(tokens)).toEqual({ a: "revoked", b: "revoked", c: null });
      }));

    test("an operator whose clock is behind can rotate: the new token is the one that remains", () =>
      withTokens(async (tokens) => {
        await add(tokens, "a", 10_000);
        await rotate(tokens, "b", 5_000, day);
        await rotate(tokens, "c", 4_000, day);
        expect(await ends(tokens)).toEqual({ a: 4_000 + day, b: 4_000 + day, c: null });
        expect((await tokens.list()).map(({ createdAt }) => createdAt)).toEqual([10_000, 10_001, 10_002]);
      }));

    test("tokens revoked by hash leave the others as they were before, in any order", () =>
      withTokens(async (tokens) => {
        await add(tokens, "a", 1_000);
        await rotate(tokens, "b", 2_000, 7 * day);
        await rotate(tokens, "c", 3_000, day);
        await rotate(tokens, "d", 4_000, 0);
        await tokens.revokeByHash("c");
        expect(await ends(tokens)).toEqual({ a: 4_000, b: 4_000, c: "revoked", d: null });
        await tokens.revokeByHash("d");
        expect(await ends(tokens)).toEqual({ a: 2_000 + 7 * day, b: null, c: "revoked", d: "revoked" });
        await tokens.revokeByHash("b");
        await tokens.revokeByHash("b");
        expect(await ends(tokens)).toEqual({ a: null, b: "revoked", c: "revoked", d: "revoked" });
        expect((await tokens.list()).find(({ hash }) => hash === "b")?.revokedAt).toBe(2_000);
        await tokens.revokeByHash("a");
        expect(await add(tokens, "e", 6_000)).toBe(true);
      }));

    test("after a first token revoked by hash another can be added, after one revoked by name it cannot", () =>
      withTokens(async (tokens) => {
        const first = (hash: string, createdAt: number) =>
          tokens.addFirst({ hash, name: "first", createdAt, expiresAt: null });
        expect(await first("a", 1_000)).toBe(true);
        expect(await first("b", 2_000)).toBe(false);
        await tokens.revokeByHash("a");
        expect(await first("c", 3_000)).toBe(true);
        expect(await tokens.revoke("first", 4_000)).toBe(true);
        expect(await first("d", 5_000)).toBe(false);
      }));

    test("last uses only increase, whichever server records them, and unknown tokens are ignored", () =>
      withStores(2, async ([one, two]) => {
        if (one === undefined || two === undefined) throw new Error("There are not two stores");
        const lastUses = async () =>
          Object.fromEntries((await two.list()).map(({ hash, lastUsedAt }) => [hash, lastUsedAt]));
        for (const hash of ["a", "b", "c"])
          await one.add({ hash, name: hash, createdAt: 1, expiresAt: null });
        expect(await lastUses()).toEqual({ a: null, b: null, c: null });
        await one.recordUses([
          { hash: "a", minute: 120_000 },
          { hash: "b", minute: 60_000 },
          { hash: "nobody", minute: 60_000 },
        ]);
        await two.recordUses([
          { hash: "b", minute: 180_000 },
          { hash: "a", minute: 60_000 },
        ]);
        expect(await lastUses()).toEqual({ a: 120_000, b: 180_000, c: null });
        await one.recordUses([]);
      }));

    test("servers that record the same tokens concurrently with rotations all succeed, and the latest use wins", () =>
      withStores(3, async (stores) => {
        const [first] = stores;
        if (first === undefined) throw new Error("There is no store");
        const hashes = Array.from({ length: 40 }, (_, index) => `token ${index}`);
        for (const [index, hash] of hashes.entries())
          await first.add({ hash, name: `name ${index}`, createdAt: 1, expiresAt: null });
        const recordings = Array.from({ length: 10 }, (_, round) =>
          stores.map((store, index) => {
            const uses = hashes.map((hash) => ({ hash, minute: (round * 3 + index) * 60_000 }));
            return store.recordUses(index === 1 ? uses.toReversed() : uses);
          }),
        );
        const rotations = stores.map((store, index) =>
          store.rotate({
            hash: `new ${index}`,
            name: "name 0",
            rotatedAt: 2,
            expiresAt: null,
            overlapEndsAt: day,
          }),
        );
        await Promise.all(recordings.flat());
        for (const outcome of await Promise.all(rotations)) expect(outcome).toBeObject();
        const records = await first.list();
        const latest = records.filter(({ lastUsedAt }) => lastUsedAt === 29 * 60_000);
        expect(latest.map(({ hash }) => hash).toSorted()).toEqual(hashes.toSorted());
        const unlimited = records.filter(
          ({ name, overlapEndsAt }) => name === "name 0" && overlapEndsAt === null,
        );
        expect(unlimited).toHaveLength(1);
      }));

    test("a reader of changes has what is stored, after any sequence of changes", () =>
      withTokens(async (tokens) => {
        const step = fc.record({
          kind: fc.constantFrom("add", "rotate", "revoke", "revokeByHash", "remove", "read"),
          name: fc.constantFrom("a", "b"),
          lifeMs: fc.option(fc.integer({ min: 1, max: 50 }), { nil: null }),
          overlapMs: fc.integer({ min: 0, max: 50 }),
          backoffMs: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constant(endedTokenRetentionMs)),
          pick: fc.nat(),
        });
        // One store for all runs: each goes on from where the one before it left off.
        let now = 1_000;
        let hashes = 0;
        let revision = 0;
        const read = new Map<string, TokenRecord>();
        const active = (records: Iterable<TokenRecord>) =>
          [...records]
            .filter((token) => isActive(token, now))
            .map((token) => ({ ...token, lastUsedAt: null }))
            .toSorted((one, other) => (one.hash < other.hash ? -1 : 1));
        const check = async () => {
          const changes = await tokens.readChanges(revision);
          expect(changes.revision).toBeGreaterThanOrEqual(revision);
          revision = changes.revision;
          for (const token of changes.tokens) read.set(token.hash, token);
          const stored = active(await tokens.list());
          expect(active(read.values())).toEqual(stored);
          expect(active((await tokens.readActive(now)).tokens)).toEqual(stored);
          expect((await tokens.readActive(now)).revision).toBe(revision);
          const found = await tokens.find([...stored.map(({ hash }) => hash), "nobody"]);
          expect(active(found)).toEqual(stored);
        };
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
            for (const { kind, name, lifeMs, overlapMs, backoffMs, pick } of steps) {
              now += backoffMs;
              const hash = `hash ${hashes++}`;
              const expiresAt = lifeMs === null ? null : now + lifeMs;
              if (kind === "add") await tokens.add({ hash, name, createdAt: now, expiresAt });
              else if (kind === "rotate")
                await tokens.rotate({
                  hash,
                  name,
                  rotatedAt: now,
                  expiresAt,
                  overlapEndsAt: now + overlapMs,
                });
              else if (kind === "revoke") await tokens.revoke(name, now);
              else if (kind === "revokeByHash") {
                const all = await tokens.list();
                await tokens.revokeByHash(all[pick % Math.max(1, all.length)]?.hash ?? "");
              } else if (kind === "remove") {
                // A server that runs has read long before what is removed now.
                await check();
                const before = await tokens.list();
                const removed = await removeEnded(tokens, now - endedTokenRetentionMs, 1 + (pick % 3));
                const left = new Set((await tokens.list()).map((token) => token.hash));
                expect(left.size).toBe(before.length - removed);
                const gone = before.filter((token) => !left.has(token.hash));
                for (const token of gone)
                  expect(token.revokedAt ?? effectiveExpiry(token) ?? now).toBeLessThan(
                    now - endedTokenRetentionMs,
                  );
              } else await check();
            }
            await check();
          }),
          { numRuns: engine.name === "sqlite" ? 200 : 30 },
        );
      }));

    test("a reader misses none of the concurrent changes of several servers", () =>
      withStores(3, async (stores) => {
        const [reader, ...writers] = stores;
        if (reader === undefined) throw new Error("There is no store");
        let isOver = false;
        const writing = writers.map(async (tokens, writer) => {
          for (let round = 0; round < 25; round++) {
            const name = `${writer} ${round}`;
            await tokens.add({ hash: name, name, createdAt: round, expiresAt: null });
            if (round % 2 === 1) await tokens.revoke(name, 1_000);
          }
        });
        const written = Promise.all(writing).finally(() => {
          isOver = true;
        });
        const read = new Map<string, TokenRecord>();
        let revision = 0;
        for (let isLast = false; !isLast; ) {
          isLast = isOver;
          const changes = await reader.readChanges(revision);
          revision = changes.revision;
          for (const token of changes.tokens) read.set(token.hash, token);
        }
        await written;
        const byHash = (records: Iterable<TokenRecord>) =>
          [...records].map(({ hash, revokedAt }) => [hash, revokedAt]).toSorted();
        expect(byHash(read.values())).toEqual(byHash(await reader.list()));
        expect(revision).toBe(75 - 1);
      }));

    test("tokens that ended before a time are removed, some at a time, and their names are free", () =>
      withTokens(async (tokens) => {
        await tokens.add({ hash: "revoked", name: "revoked", createdAt: 1, expiresAt: null });
        await tokens.revoke("revoked", 999);
        await tokens.add({ hash: "revoked later", name: "revoked", createdAt: 2, expiresAt: null });
        await tokens.revoke("revoked", 1_000);
        await tokens.add({ hash: "expired", name: "expired", createdAt: 1, expiresAt: 999 });
        await tokens.add({ hash: "expired later", name: "expired later", createdAt: 1, expiresAt: 1_000 });
        await add(tokens, "replaced", 1);
        await rotate(tokens, "replaced later", 2, 10);
        await rotate(tokens, "new", 5_000, 0);
        expect(await tokens.add({ hash: "x", name: "expired", createdAt: 5, expiresAt: null })).toBe(false);

        expect(await removeEnded(tokens, 1_000, 2)).toBe(3);
        expect((await tokens.list()).map(({ hash }) => hash).toSorted()).toEqual([
          "expired later",
          "new",
          "replaced later",
          "revoked later",
        ]);
        expect(await tokens.add({ hash: "x", name: "expired", createdAt: 5, expiresAt: null })).toBe(true);
      }));

    test("a token that holds the end of an older one is not removed before it", () =>
      withTokens(async (tokens) => {
        await add(tokens, "old", 1);
        // Ends long before the overlap that it began.
        await rotate(tokens, "brief", 2, 200, 3);
        await tokens.add({ hash: "latest", name: "other", createdAt: 200, expiresAt: null });
        expect(await removeEnded(tokens, 200, 10)).toBe(0);
        expect((await tokens.list()).find(({ hash }) => hash === "old")?.overlapEndsAt).toBe(202);
        expect(await tokens.removeEnded(300, 1)).toBe(1);
        expect((await tokens.list()).map(({ hash }) => hash)).toEqual(["brief", "latest"]);
        expect(await removeEnded(tokens, 300, 1)).toBe(1);
      }));

    test("a store whose tokens have all ended never gets a first token again, and its revisions go on", () =>
      withTokens(async (tokens) => {
        const first = (hash: string) =>
          tokens.addFirst({ hash, name: "first", createdAt: 5, expiresAt: null });
        await add(tokens, "a", 1, 2);
        // Never shown.
        await tokens.add({ hash: "b", name: "b", createdAt: 3, expiresAt: null });
        await tokens.revokeByHash("b");
        expect(await removeEnded(tokens, 300 * day, 10)).toBe(0);
        expect(await first("c")).toBe(false);

        await tokens.add({ hash: "d", name: "d", createdAt: 3, expiresAt: null });
        await tokens.revoke("d", 4);
        const { revision } = await tokens.readActive(5);
        expect(await removeEnded(tokens, 300 * day, 10)).toBe(2);
        expect((await tokens.list()).map(({ hash }) => hash)).toEqual(["d"]);
        expect(await first("e")).toBe(false);
        await tokens.add({ hash: "f", name: "f", createdAt: 5, expiresAt: null });
        expect((await tokens.readChanges(revision)).tokens.map(({ hash }) => hash)).toEqual(["f"]);
      }));
  });
}
