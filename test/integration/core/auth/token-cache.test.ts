// The token cache on a real store, with a clock that the test sets: polls, last uses, and the
// removal of ended tokens.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { hashToken, makeToken, randomBytes } from "../../../../src/core/auth/token.ts";
import { TokenCache, unknownToken } from "../../../../src/core/auth/token-cache.ts";
import { openDatabase } from "../../../../src/core/store/sqlite/connection.ts";
import { migrate } from "../../../../src/core/store/sqlite/migrations.ts";
import { SqliteTokens } from "../../../../src/core/store/sqlite/tokens.ts";
import { eventually } from "../../../support/eventually.ts";
import { TemporaryFolder } from "../../../support/server.ts";
import { VirtualTime } from "../../../support/virtual-time.ts";

const noon = Date.UTC(2026, 5, 1, 12);
const minute = 60_000;
const day = 86_400_000;

/** A twentieth of the server's, as most tests wait for several polls. */
const pollIntervalMs = 50;

class CountingTokens extends SqliteTokens {
  polls = 0;
  tokensRead = 0;
  lookups: readonly string[][] = [];

  override readActive(now: number): ReturnType<SqliteTokens["readActive"]> {
    this.polls++;
    return this.#counted(super.readActive(now));
  }

  override readChanges(since: number): ReturnType<SqliteTokens["readChanges"]> {
    this.polls++;
    return this.#counted(super.readChanges(since));
  }

  override async find(hashes: readonly string[]): ReturnType<SqliteTokens["find"]> {
    this.lookups = [...this.lookups, [...hashes]];
    const found = await super.find(hashes);
    this.tokensRead += found.length;
    return found;
  }

  async #counted(reading: ReturnType<SqliteTokens["readActive"]>): ReturnType<SqliteTokens["readActive"]> {
    const read = await reading;
    this.tokensRead += read.tokens.length;
    return read;
  }
}

/** A store with tokens, a cache of them, and the clock of both. */
class TestCache implements AsyncDisposable {
  now = noon;
  readonly failures: string[] = [];
  readonly stored: CountingTokens;
  readonly cache: TokenCache;
  readonly sql: Database;
  readonly #folder = new TemporaryFolder();
  readonly #database;

  constructor() {
    this.#database = openDatabase(this.#folder.file("plants.db"), "create");
    this.sql = new Database(this.#folder.file("plants.db"));
    this.stored = new CountingTokens(this.#database);
    this.cache = new TokenCache(
      this.stored,
      () => this.now,
      (event) => this.failures.push(`${event.kind}: ${"reason" in event ? event.reason : ""}`),
      pollIntervalMs,
    );
  }

  async issue(name: string, expiresAt: number | null = null): Promise<string> {
    const { token, record } = makeToken({ name, expiresAt }, { now: noon, randomBytes });
    await this.stored.add(record);
    return token;
  }

  /** Starts the cache and uses a new token "ci". Its use cannot be stored, until acceptUpdates. */
  async useWhileUpdatesFail(): Promise<string> {
    const token = await this.issue("ci");
    this.sql.run("CREATE TRIGGER refuse BEFORE UPDATE ON tokens BEGIN SELECT RAISE(ABORT, 'read-only'); END");
    await this.cache.start();
    await this.cache.lookup(token);
    return token;
  }

  acceptUpdates(): void {
    this.sql.run("DROP TRIGGER refuse");
  }

  /** Stores revoked and expired tokens, as after years of use. */
  addEnded(count: number, endedAt: number): void {
    this.sql.run(
      `WITH RECURSIVE numbers (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM numbers WHERE value < ?2)
       INSERT INTO tokens (hash, name, created_at, expires_at, revoked_at, revision)
       SELECT 'ended ' || value, 'name ' || value, 1, iif(value % 2, ?1, NULL), iif(value % 2, NULL, ?1), value
       FROM numbers`,
      [endedAt, count],
    );
  }

  /** Last uses by name, in minutes since noon; undefined is never. */
  async lastUses(): Promise<Record<string, number | undefined>> {
    const records = await this.stored.list();
    return Object.fromEntries(
      records.map(({ name, lastUsedAt }) => [
        name,
        lastUsedAt === null ? undefined : (lastUsedAt - noon) / minute,
      ]),
    );
  }

  /**
   * Waits until the cache has checked its clock again: it does so after a poll, before the next
   * poll.
   */
  async aTick(): Promise<void> {
    const after = this.stored.polls + 2;
    await eventually(
      "two more polls",
      () => this.stored.polls,
      (polls) => polls >= after,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cache.stop();
    this.sql.close();
    this.#database.close();
    this.#folder[Symbol.dispose]();
  }
}

test("a use is stored at the end of its minute, to the minute, and only for accepted tokens", async () => {
  await using fixture = new TestCache();
  const [used, refused] = [await fixture.issue("used"), await fixture.issue("expired", noon + 1)];
  await fixture.issue("unused");
  fixture.sql.run("CREATE TABLE writes (minute INTEGER)");
  fixture.sql.run(
    "CREATE TRIGGER log AFTER UPDATE ON tokens BEGIN INSERT INTO writes VALUES (new.last_used_at); END",
  );
  await fixture.cache.start();

  fixture.now = noon + 3 * minute + 20_000;
  for (let request = 0; request < 10; request++) {
    expect(await fixture.cache.lookup(used)).toMatchObject({ name: "used" });
    expect(await fixture.cache.lookup(refused)).toBe(unknownToken);
    expect(await fixture.cache.lookup("pst_unknown")).toBe(unknownToken);
  }
  fixture.now = noon + 4 * minute;
  await fixture.aTick();
  await eventually("a last use", async () => (await fixture.lastUses()).used);
  expect(await fixture.lastUses()).toEqual({ used: 3, expired: undefined, unused: undefined });

  // Several uses in one minute are one write; a minute without a use is none.
  for (const seconds of [1, 20, 59]) {
    fixture.now = noon + 4 * minute + seconds * 1_000;
    await fixture.cache.lookup(used);
  }
  await fixture.aTick();
  expect(await fixture.lastUses()).toMatchObject({ used: 3 });
  fixture.now = noon + 5 * minute;
  await eventually(
    "a last use after 4 minutes",
    async () => (await fixture.lastUses()).used,
    (minutes) => minutes === 4,
  );
  fixture.now = noon + 6 * minute;
  await fixture.aTick();
  expect(fixture.sql.query("SELECT (minute - ?) / 60000 FROM writes").values(noon)).toEqual([[3], [4]]);
  expect(fixture.failures).toEqual([]);
});

test("last uses that cannot be written are reported, and written a minute later; tokens stay accepted", async () => {
  await using fixture = new TestCache();
  const token = await fixture.useWhileUpdatesFail();
  fixture.now = noon + minute;
  await eventually("a failure", () => fixture.failures[0]);
  expect(fixture.failures).toEqual(["lastUsedWriteFailed: read-only"]);
  expect(await fixture.cache.lookup(token)).toMatchObject({ name: "ci" });
  expect(await fixture.lastUses()).toEqual({ ci: undefined });

  fixture.acceptUpdates();
  fixture.now = noon + 2 * minute;
  await eventually("a last use", async () => (await fixture.lastUses()).ci);
  expect(await fixture.lastUses()).toEqual({ ci: 1 });
  expect(fixture.failures).toHaveLength(1);
});

test("stop resolves where the store fails, and reports the error", async () => {
  await using fixture = new TestCache();
  await fixture.useWhileUpdatesFail();
  await fixture.cache.stop();
  expect(fixture.failures).toEqual(["lastUsedWriteFailed: read-only"]);
  fixture.acceptUpdates();
});

test("only active tokens are loaded, once, and then changes, however many tokens have ended", async () => {
  await using fixture = new TestCache();
  fixture.addEnded(20_000, noon - minute);
  const tokens = [await fixture.issue("one"), await fixture.issue("two")];
  await fixture.cache.start();
  expect(fixture.stored.tokensRead).toBe(2);

  await fixture.aTick();
  for (const [index, token] of tokens.entries())
    expect(fixture.cache.lookup(token)).toMatchObject({ key: hashToken(token), name: ["one", "two"][index] });
  expect(await fixture.cache.lookup("pst_unknown")).toBe(unknownToken);
  expect(fixture.stored.tokensRead).toBe(2);
  expect(fixture.stored.lookups.flat()).toHaveLength(1);

  const third = await fixture.issue("three");
  expect(await fixture.cache.lookup(third)).toMatchObject({ name: "three" });
  await fixture.stored.revoke("one", noon);
  await fixture.aTick();
  expect(await fixture.cache.lookup(tokens[0] ?? "")).toBe(unknownToken);
  expect(fixture.cache.lookup(tokens[1] ?? "")).toMatchObject({ name: "two" });
  expect(fixture.stored.tokensRead).toBe(4);
  expect(fixture.failures).toEqual([]);
});

test("many unknown tokens at once are looked up together", async () => {
  await using fixture = new TestCache();
  await fixture.cache.start();
  const before = fixture.stored.polls;
  const unknown = Array.from({ length: 500 }, (_, index) => fixture.cache.lookup(`pst_unknown ${index}`));
  expect(new Set(await Promise.all(unknown))).toEqual(new Set([unknownToken]));
  expect(fixture.stored.polls).toBeLessThan(before + 5);
  expect(fixture.stored.lookups.flat()).toHaveLength(500);
});

test("a token that had ended by a fast clock is accepted once the clock is right", async () => {
  await using fixture = new TestCache();
  const token = await fixture.issue("ci", noon + day);
  fixture.now = noon + 365 * day;
  await fixture.cache.start();
  expect(await fixture.cache.lookup(token)).toBe(unknownToken);
  fixture.now = noon;
  expect(await fixture.cache.lookup(token)).toMatchObject({ name: "ci" });
});

test("changes that the store lost in a failover are noticed, whatever its revision", async () => {
  await using fixture = new TestCache();
  const [kept, revoked] = [await fixture.issue("kept"), await fixture.issue("revoked")];
  await fixture.stored.revoke("revoked", noon);
  await fixture.cache.start();
  expect(await fixture.cache.lookup(revoked)).toBe(unknownToken);
  // The state of a standby that was promoted before the revocation reached it.
  fixture.sql.run("UPDATE tokens SET revoked_at = NULL, revision = 2 WHERE name = 'revoked'");
  expect(await fixture.cache.lookup(revoked)).toMatchObject({ name: "revoked" });
  await fixture.stored.revoke("kept", noon);
  await fixture.aTick();
  expect(await fixture.cache.lookup(kept)).toBe(unknownToken);
});

test("a change without a revision, such as SQL by hand, takes effect within two minutes", async () => {
  const time = new VirtualTime();
  const database = new Database(":memory:", { strict: true, safeIntegers: true });
  try {
    migrate(database, "a store in memory");
    const tokens = new SqliteTokens(database);
    const { token, record } = makeToken({ name: "ci", expiresAt: null }, { now: noon, randomBytes });
    await tokens.add(record);
    const known = new TokenCache(tokens, time.wallNow, () => undefined);
    await time.until(known.start(), 1_000);
    database.run("UPDATE tokens SET revoked_at = 1");
    await time.until(time.sleep(120_000), 130_000);
    expect(await time.until(Promise.resolve(known.lookup(token)), 1_000)).toBe(unknownToken);
    await time.until(known.stop(), 1_000);
  } finally {
    time[Symbol.dispose]();
    database.close();
  }
});

test("tokens that ended long ago are removed once a day, in batches, and no others", async () => {
  await using fixture = new TestCache();
  fixture.addEnded(1_200, noon - 91 * day);
  const token = await fixture.issue("ci");
  await fixture.stored.add({ hash: "ended yesterday", name: "x", createdAt: 1, expiresAt: noon - day });
  await fixture.cache.start();
  const names = async () => (await fixture.stored.list()).map(({ name }) => name);
  await eventually("two tokens are left", names, (left) => left.length === 2);
  expect(await names()).toEqual(["x", "ci"]);
  expect(await fixture.cache.lookup(token)).toMatchObject({ name: "ci" });

  // After the last batch of the removal, which finds no rows.
  await fixture.aTick();
  fixture.addEnded(10, noon - 91 * day);
  await fixture.aTick();
  expect(await names()).toHaveLength(12);
  fixture.now = noon + day;
  await eventually("two tokens are left", names, (left) => left.length === 2);
  expect(fixture.failures).toEqual([]);
});

test("a clock that is years ahead removes nothing, and neither does a server of an unused store", async () => {
  await using fixture = new TestCache();
  await fixture.stored.add({ hash: "a", name: "a", createdAt: noon - day, expiresAt: noon + day });
  await fixture.stored.add({ hash: "b", name: "b", createdAt: noon - day, expiresAt: null });
  fixture.now = noon + 30_000 * day;
  await fixture.cache.start();
  await fixture.aTick();
  await fixture.aTick();
  expect(await fixture.stored.list()).toHaveLength(2);
  await fixture.stored.revoke("b", noon);
  await fixture.aTick();
  fixture.now += day;
  await fixture.aTick();
  await fixture.aTick();
  expect(await fixture.stored.list()).toHaveLength(2);
});

test("a removal that fails is reported, and tokens stay accepted", async () => {
  await using fixture = new TestCache();
  fixture.addEnded(1, noon - 91 * day);
  const token = await fixture.issue("ci");
  fixture.sql.run(
    "CREATE TRIGGER refuse BEFORE DELETE ON tokens BEGIN SELECT RAISE(ABORT, 'read-only'); END",
  );
  await fixture.cache.start();
  await eventually("a failure", () => fixture.failures[0]);
  expect(fixture.failures).toEqual(["tokenRemovalFailed: read-only"]);
  expect(await fixture.cache.lookup(token)).toMatchObject({ name: "ci" });
});

test("a token is recalled by its credentials while it is active, and its uses are stored", async () => {
  await using fixture = new TestCache();
  const [ending, revoked, kept] = [
    await fixture.issue("ending", noon + 1_000),
    await fixture.issue("revoked"),
    await fixture.issue("kept"),
  ];
  await fixture.cache.start();
  const recalled = () =>
    [ending, revoked, kept].map((token) => fixture.cache.recall(`Bearer ${token}`)?.name);
  expect(recalled()).toEqual([undefined, undefined, undefined]);
  for (const token of [ending, revoked, kept]) await fixture.cache.lookup(token, `Bearer ${token}`);
  expect(recalled()).toEqual(["ending", "revoked", "kept"]);
  expect(fixture.cache.recall(`Bearer ${kept}x`)).toBeUndefined();

  fixture.now = noon + 1_000;
  expect(recalled()).toEqual([undefined, "revoked", "kept"]);
  fixture.now = noon + minute;
  expect(await fixture.cache.lookup(revoked)).toMatchObject({ name: "revoked" });
  await fixture.stored.revoke("revoked", noon);
  await fixture.aTick();
  expect(fixture.cache.recall(`Bearer ${revoked}`)).toBeUndefined();
  await fixture.cache.lookup(kept, `Bearer ${kept}`);
  fixture.now = noon + 2 * minute;
  expect(await fixture.cache.lookup(kept)).toMatchObject({ name: "kept" });
  await fixture.cache.stop();
  expect(await fixture.lastUses()).toMatchObject({ ending: 0, revoked: 1, kept: 2 });
});

test("after a time without polls, as in a frozen process, no token is accepted before the next poll", async () => {
  await using fixture = new TestCache();
  const [revoked, kept] = [await fixture.issue("revoked"), await fixture.issue("kept")];
  await fixture.cache.start();
  for (const token of [revoked, kept]) await fixture.cache.lookup(token);
  await fixture.stored.revoke("revoked", noon);
  fixture.now += 8_000;
  for (const token of [revoked, kept]) expect(fixture.cache.recall(token)).toBeUndefined();
  const found = [fixture.cache.lookup(revoked), fixture.cache.lookup(kept)];
  expect(await Promise.all(found)).toMatchObject([unknownToken, { name: "kept" }]);
});

test("while the tokens cannot be read, none is accepted for longer than two seconds", async () => {
  await using fixture = new TestCache();
  const token = await fixture.issue("ci");
  await fixture.cache.start();
  fixture.sql.run("ALTER TABLE tokens RENAME TO hidden");
  expect(await fixture.cache.lookup(token)).toMatchObject({ name: "ci" });
  fixture.now += 2_001;
  expect(await fixture.cache.lookup(token)).toMatchObject({ code: "unavailable" });
  fixture.sql.run("ALTER TABLE hidden RENAME TO tokens");
  expect(await fixture.cache.lookup(token)).toMatchObject({ name: "ci" });
});

test("a token whose row was deleted by hand is not recalled after the next reload", async () => {
  await using fixture = new TestCache();
  const token = await fixture.issue("ci");
  await fixture.cache.start();
  await fixture.cache.lookup(token);
  fixture.sql.run("DELETE FROM tokens");
  // The failed poll makes the next one a reload.
  fixture.sql.run("ALTER TABLE tokens RENAME TO hidden");
  await eventually("a failure", () => fixture.failures[0]);
  fixture.sql.run("ALTER TABLE hidden RENAME TO tokens");
  await eventually("the token is forgotten", () => fixture.cache.recall(token) === undefined);
});

test("a reload makes changes effective that no poll sees: removed tokens, and one with an old revision", async () => {
  await using fixture = new TestCache();
  const before = await fixture.issue("before");
  await fixture.cache.start();
  expect(await fixture.cache.lookup(before)).toMatchObject({ name: "before" });
  // All tokens are replaced by one with the same revision, as by a reset of a sandbox.
  fixture.sql.run("DELETE FROM tokens");
  const after = await fixture.issue("after");
  // Also while a look-up waits for a poll.
  const waiting = fixture.cache.lookup(`${before}x`);
  const [first, second] = [fixture.cache.reload(), fixture.cache.reload()];
  await first;
  expect(fixture.cache.lookup(before)).toBeInstanceOf(Promise);
  expect(fixture.cache.lookup(after)).toMatchObject({ name: "after" });
  expect(fixture.cache.recall(before)).toBeUndefined();
  await second;
  expect(await waiting).toBe(unknownToken);
  expect(await fixture.cache.lookup(before)).toBe(unknownToken);
});

test("polls and reloads run one at a time, so that an earlier result never replaces a later one", async () => {
  await using fixture = new TestCache();
  let running = 0;
  let runningMax = 0;
  const { readActive, readChanges } = fixture.stored;
  const slowly = async <T>(read: () => Promise<T>): Promise<T> => {
    runningMax = Math.max(runningMax, ++running);
    await Bun.sleep(5);
    const result = await read();
    running--;
    return result;
  };
  fixture.stored.readActive = (now) => slowly(() => readActive.call(fixture.stored, now));
  fixture.stored.readChanges = (since) => slowly(() => readChanges.call(fixture.stored, since));
  await fixture.cache.start();
  await Promise.all([
    ...Array.from({ length: 5 }, (_, index) => fixture.cache.lookup(`unknown ${index}`)),
    ...Array.from({ length: 5 }, () => fixture.cache.reload()),
    Bun.sleep(20).then(() => fixture.cache.lookup("another")),
    Bun.sleep(60).then(() => fixture.cache.reload()),
  ]);
  expect(runningMax).toBe(1);
});
