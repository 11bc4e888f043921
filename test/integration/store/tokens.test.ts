// The tokens of every engine: rotations, revocations, last uses and versions.

import { describe, expect, test } from "bun:test";
import type { TokenStore } from "../../../src/store/shared/sql-tokens.ts";
import type { Rotated, RotationOutcome } from "../../../src/store/shared/token-record.ts";
import { engines } from "../../support/engines.ts";
import { openedStore } from "../../support/stored-plants.ts";

const day = 86_400_000;

for (const engine of engines) {
  describe(engine.name, () => {
    /** Runs a test with the tokens of one store, as each of its servers has them. */
    async function withServers(
      count: number,
      use: (...servers: TokenStore[]) => Promise<void>,
    ): Promise<void> {
      await using place = await engine.createTestStore();
      await using opened = new AsyncDisposableStack();
      const servers: TokenStore[] = [];
      for (let index = 0; index < count; index++)
        servers.push(opened.use(await openedStore(place.database)).tokens);
      await use(...servers);
    }

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

    /** The end of each token's overlap, or that the token is revoked. */
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
      withServers(1, async (tokens) => {
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
      withServers(1, async (tokens) => {
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
      withServers(1, async (tokens) => {
        expect(await rotate(tokens, "b", 2_000, day)).toBe("none");
        await add(tokens, "a", 1_000, 2_000);
        expect(await rotate(tokens, "b", 2_000, day)).toBe("expired");
        expect(await tokens.revoke("ci", 2_000)).toBe(true);
        expect(await rotate(tokens, "b", 2_000, day)).toBe("none");
        expect(await tokens.list()).toHaveLength(1);
      }));

    test("revoking a name revokes the new token and the old ones, and frees the name", () =>
      withServers(1, async (tokens) => {
        await add(tokens, "a", 1_000);
        await rotate(tokens, "b", 2_000, day);
        expect(await add(tokens, "c", 3_000)).toBe(false);
        expect(await tokens.revoke("ci", 3_000)).toBe(true);
        expect(await tokens.revoke("ci", 3_000 + 1)).toBe(false);
        expect(await add(tokens, "c", 4_000)).toBe(true);
        expect(await ends(tokens)).toEqual({ a: "revoked", b: "revoked", c: null });
      }));

    test("an operator whose clock is behind can rotate: the new token is the one that remains", () =>
      withServers(1, async (tokens) => {
        await add(tokens, "a", 10_000);
        await rotate(tokens, "b", 5_000, day);
        await rotate(tokens, "c", 4_000, day);
        expect(await ends(tokens)).toEqual({ a: 4_000 + day, b: 4_000 + day, c: null });
        expect((await tokens.list()).map(({ createdAt }) => createdAt)).toEqual([10_000, 10_001, 10_002]);
      }));

    test("a store gets one first token, however many servers start at once", () =>
      withServers(3, async (...servers) => {
        const first = (tokens: TokenStore, hash: string) =>
          tokens.add({ hash, name: "first", createdAt: 1_000, expiresAt: null });
        const added = await Promise.all(servers.map((tokens, index) => first(tokens, `hash ${index}`)));
        expect(added.filter(Boolean)).toHaveLength(1);
        expect(await servers[0]?.list()).toHaveLength(1);
      }));

    test("each change of tokens gets a version of its own, on any server; a last use does not", () =>
      withServers(2, async (writer, reader) => {
        const versions: number[] = [];
        let known: number | undefined;
        const changes = [
          () => add(writer, "a", 1_000),
          () => rotate(reader, "b", 2_000, day),
          () => writer.revoke("ci", 3_000),
        ];
        for (const change of changes) {
          await change();
          const read = await reader.readUnlessVersion(known);
          known = read?.version;
          versions.push(known ?? Number.NaN);
          expect(await reader.readUnlessVersion(known)).toBeUndefined();
        }
        expect(new Set(versions).size).toBe(3);
        await writer.recordUses([{ hash: "a", minute: 60_000 }]);
        expect(await reader.readUnlessVersion(known)).toBeUndefined();
      }));

    test("concurrent rotations on several servers run one after the other", () =>
      withServers(3, async (one, two, three) => {
        await add(one, "a", 1_000);
        const outcomes = await Promise.all(
          [one, two, three, one, two, three, one, two, three].map((tokens, index) =>
            rotate(tokens, `rotated ${index}`, 2_000, day),
          ),
        );
        for (const outcome of outcomes) expect(outcome).toMatchObject({ predecessorEndsAt: 2_000 + day });
        const records = await one.list();
        expect(records).toHaveLength(10);
        expect(records.filter(({ overlapEndsAt }) => overlapEndsAt === null)).toHaveLength(1);
      }));

    test("the last use is the latest that any server has recorded", () =>
      withServers(2, async (first, second) => {
        await add(first, "a", 1_000);
        await first.recordUses([]);
        for (let round = 0; round < 5; round++)
          await Promise.all([
            first.recordUses([
              { hash: "a", minute: 60_000 * round },
              { hash: "unknown", minute: 1 },
            ]),
            second.recordUses([{ hash: "a", minute: 120_000 * round }]),
          ]);
        await first.recordUses([{ hash: "a", minute: 60_000 }]);
        expect((await first.list())[0]?.lastUsedAt).toBe(480_000);
      }));

    test("a last use of a clock that was ahead is replaced, and one of a clock that differs is not", () =>
      withServers(1, async (tokens) => {
        await add(tokens, "a", 1_000);
        const hour = 3_600_000;
        const use = async (minute: number, now: number) => {
          await tokens.recordUses([{ hash: "a", minute }], now);
          return (await tokens.list())[0]?.lastUsedAt;
        };
        expect(await use(10 * hour, 10 * hour)).toBe(10 * hour);
        expect(await use(9 * hour, 9 * hour)).toBe(10 * hour);
        expect(await use(8 * hour, 8 * hour)).toBe(8 * hour);
      }));

    test("keys of creators in one call are those of single ones, in their order", () =>
      withServers(2, async (one, other) => {
        const names = Array.from({ length: 50 }, (_, index) => `gardener ${index}`);
        const [first, second] = await Promise.all([
          one.creatorKeys(names),
          other.creatorKeys(names.toReversed()),
        ]);
        expect(second).toEqual(first.toReversed());
        expect(new Set(first).size).toBe(50);
        expect(await other.creatorKey("gardener 7")).toBe(first[7] as number);
      }));
  });
}
