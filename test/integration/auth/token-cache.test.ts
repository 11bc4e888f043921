// When a running server notes and stores last uses, on a real store with a clock that the test moves.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { makeToken, randomBytes } from "../../../src/auth/token.ts";
import { TokenCache } from "../../../src/auth/token-cache.ts";
import { openDatabase } from "../../../src/store/sqlite/connection.ts";
import { migrate } from "../../../src/store/sqlite/migrations.ts";
import { SqliteTokens } from "../../../src/store/sqlite/tokens.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { VirtualTime } from "../../system/simulation/virtual-time.ts";

const noon = Date.UTC(2026, 5, 1, 12);
const minute = 60_000;
const day = 86_400_000;

/** The tokens of a store, how often a server has read them, and how many it got. */
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

/** A store with tokens, the tokens that a server knows, and the clock of both. */
class House implements AsyncDisposable {
  now = noon;
  readonly failures: string[] = [];
  readonly stored: CountingTokens;
  readonly known: TokenCache;
  readonly sql: Database;
  readonly #folder = new TemporaryFolder();
  readonly #database;

  constructor() {
    this.#database = openDatabase(this.#folder.file("plants.db"), "create");
    this.sql = new Database(this.#folder.file("plants.db"));
    this.stored = new CountingTokens(this.#database);
    this.known = new TokenCache(
      this.stored,
      () => this.now,
      (trouble, error) => this.failures.push(`${trouble}: ${error instanceof Error ? error.message : error}`),
    );
  }

  async issue(name: string, expiresAt: number | null = null): Promise<string> {
    const { token, record } = makeToken({ name, expiresAt }, { now: noon, randomBytes });
    await this.stored.add(record);
    return token;
  }

  /** Stores tokens that were revoked or have expired, as years of use leave them. */
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

  /** Waits until something holds that a server does by itself; the test's own time is the deadline. */
  async until(holds: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await holds())) await Bun.sleep(20);
  }

  /** Waits until the server has looked at its clock once more: it does so after a poll, which the next poll follows. */
  async aTick(): Promise<void> {
    const after = this.stored.polls + 2;
    await this.until(() => this.stored.polls >= after);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.known.stop();
    this.sql.close();
    this.#database.close();
    this.#folder[Symbol.dispose]();
  }
}

test("a use is stored once the minute is over, to the minute, and only that of tokens that were accepted", async () => {
  await using house = new House();
  const [used, refused] = [await house.issue("used"), await house.issue("expired", noon + 1)];
  await house.issue("unused");
  house.sql.run("CREATE TABLE writes (minute INTEGER)");
  house.sql.run(
    "CREATE TRIGGER log AFTER UPDATE ON tokens BEGIN INSERT INTO writes VALUES (new.last_used_at); END",
  );
  await house.known.start();

  house.now = noon + 3 * minute + 20_000;
  for (let request = 0; request < 10; request++) {
    expect(await house.known.lookup(used)).toMatchObject({ name: "used" });
    expect(await house.known.lookup(refused)).toBeUndefined();
    expect(await house.known.lookup("pst_unknown")).toBeUndefined();
  }
  house.now = noon + 4 * minute;
  await house.until(async () => (await house.lastUses()).used !== undefined);
  expect(await house.lastUses()).toEqual({ used: 3, expired: undefined, unused: undefined });

  // Used again and again in one minute, it is one write; a minute without a use is none.
  for (const seconds of [1, 20, 59]) {
    house.now = noon + 4 * minute + seconds * 1_000;
    await house.known.lookup(used);
  }
  await house.aTick();
  expect(await house.lastUses()).toMatchObject({ used: 3 });
  house.now = noon + 5 * minute;
  await house.until(async () => (await house.lastUses()).used === 4);
  house.now = noon + 6 * minute;
  await house.aTick();
  expect(house.sql.query("SELECT (minute - ?) / 60000 FROM writes").values(noon)).toEqual([[3], [4]]);
  expect(house.failures).toEqual([]);
});

test("a graceful stop stores what the minute had so far", async () => {
  await using house = new House();
  const token = await house.issue("ci");
  await house.known.start();
  house.now = noon + 90_000;
  await house.known.lookup(token);
  await house.known.stop();
  expect(await house.lastUses()).toEqual({ ci: 1 });
});

test("a later use that another server has stored stays", async () => {
  await using house = new House();
  const token = await house.issue("ci");
  await house.known.start();
  const record = await house.known.lookup(token);
  if (record === undefined || record === "unavailable") throw new Error("The token is not accepted");
  await house.stored.recordUses([{ hash: record.hash, minute: noon + 5 * minute }]);
  await house.known.stop();
  expect(await house.lastUses()).toEqual({ ci: 5 });
});

test("a store that cannot write last uses is reported, keeps nobody out, and gets them a minute later", async () => {
  await using house = new House();
  const token = await house.issue("ci");
  house.sql.run("CREATE TRIGGER refuse BEFORE UPDATE ON tokens BEGIN SELECT RAISE(ABORT, 'read-only'); END");
  await house.known.start();
  await house.known.lookup(token);
  house.now = noon + minute;
  await house.until(() => house.failures.length > 0);
  expect(house.failures).toEqual(["lastUsedWriteFailed: read-only"]);
  expect(await house.known.lookup(token)).toMatchObject({ name: "ci" });
  expect(await house.lastUses()).toEqual({ ci: undefined });

  house.sql.run("DROP TRIGGER refuse");
  house.now = noon + 2 * minute;
  await house.until(async () => (await house.lastUses()).ci !== undefined);
  expect(await house.lastUses()).toEqual({ ci: 1 });
  expect(house.failures).toHaveLength(1);
});

test("stopping resolves where the store fails, and says so", async () => {
  await using house = new House();
  const token = await house.issue("ci");
  house.sql.run("CREATE TRIGGER refuse BEFORE UPDATE ON tokens BEGIN SELECT RAISE(ABORT, 'read-only'); END");
  await house.known.start();
  await house.known.lookup(token);
  await house.known.stop();
  expect(house.failures).toEqual(["lastUsedWriteFailed: read-only"]);
  house.sql.run("DROP TRIGGER refuse");
});

test("however many tokens have ended, a server reads only those that are in force, once, and then what changes", async () => {
  await using house = new House();
  house.addEnded(20_000, noon - minute);
  const tokens = [await house.issue("one"), await house.issue("two")];
  await house.known.start();
  expect(house.stored.tokensRead).toBe(2);

  await house.aTick();
  for (const token of tokens) expect(house.known.lookup(token)).toMatchObject({ createdAt: noon });
  expect(await house.known.lookup("pst_unknown")).toBeUndefined();
  expect(house.stored.tokensRead).toBe(2);
  expect(house.stored.lookups.flat()).toHaveLength(1);

  const third = await house.issue("three");
  expect(await house.known.lookup(third)).toMatchObject({ name: "three" });
  await house.stored.revoke("one", noon);
  await house.aTick();
  expect(await house.known.lookup(tokens[0] ?? "")).toBeUndefined();
  expect(house.known.lookup(tokens[1] ?? "")).toMatchObject({ name: "two" });
  expect(house.stored.tokensRead).toBe(4);
  expect(house.failures).toEqual([]);
});

test("many unknown tokens at once are looked up together", async () => {
  await using house = new House();
  await house.known.start();
  const before = house.stored.polls;
  const unknown = Array.from({ length: 500 }, (_, index) => house.known.lookup(`pst_unknown ${index}`));
  expect(new Set(await Promise.all(unknown))).toEqual(new Set([undefined]));
  expect(house.stored.polls).toBeLessThan(before + 5);
  expect(house.stored.lookups.flat()).toHaveLength(500);
});

test("a token that had ended by a clock which was ahead is accepted once the clock is right", async () => {
  await using house = new House();
  const token = await house.issue("ci", noon + day);
  house.now = noon + 365 * day;
  await house.known.start();
  expect(await house.known.lookup(token)).toBeUndefined();
  house.now = noon;
  expect(await house.known.lookup(token)).toMatchObject({ name: "ci" });
});

test("what the store lost in a failover is not missed, whatever the numbers of its changes", async () => {
  await using house = new House();
  const [kept, revoked] = [await house.issue("kept"), await house.issue("revoked")];
  await house.stored.revoke("revoked", noon);
  await house.known.start();
  expect(await house.known.lookup(revoked)).toBeUndefined();
  // As the standby has it that was promoted before the revocation reached it.
  house.sql.run("UPDATE tokens SET revoked_at = NULL, revision = 2 WHERE name = 'revoked'");
  expect(await house.known.lookup(revoked)).toMatchObject({ name: "revoked" });
  await house.stored.revoke("kept", noon);
  await house.aTick();
  expect(await house.known.lookup(kept)).toBeUndefined();
});

test("a change that has no revision, as by hand, is seen within a minute or two", async () => {
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
    expect(await time.until(Promise.resolve(known.lookup(token)), 1_000)).toBeUndefined();
    await time.until(known.stop(), 1_000);
  } finally {
    time[Symbol.dispose]();
    database.close();
  }
});

test("once a day a server removes the tokens that ended long ago, some at a time, and no others", async () => {
  await using house = new House();
  house.addEnded(1_200, noon - 91 * day);
  const token = await house.issue("ci");
  await house.stored.add({ hash: "ended yesterday", name: "x", createdAt: 1, expiresAt: noon - day });
  await house.known.start();
  const names = async () => (await house.stored.list()).map(({ name }) => name);
  await house.until(async () => (await names()).length === 2);
  expect(await names()).toEqual(["x", "ci"]);
  expect(await house.known.lookup(token)).toMatchObject({ name: "ci" });

  // Past the end of the removal, which looks once more whether anything is left.
  await house.aTick();
  house.addEnded(10, noon - 91 * day);
  await house.aTick();
  expect(await names()).toHaveLength(12);
  house.now = noon + day;
  await house.until(async () => (await names()).length === 2);
  expect(house.failures).toEqual([]);
});

test("a clock that is years ahead removes nothing, and neither does a server of a store that nobody uses", async () => {
  await using house = new House();
  await house.stored.add({ hash: "a", name: "a", createdAt: noon - day, expiresAt: noon + day });
  await house.stored.add({ hash: "b", name: "b", createdAt: noon - day, expiresAt: null });
  house.now = noon + 30_000 * day;
  await house.known.start();
  await house.aTick();
  await house.aTick();
  expect(await house.stored.list()).toHaveLength(2);
  await house.stored.revoke("b", noon);
  await house.aTick();
  house.now += day;
  await house.aTick();
  await house.aTick();
  expect(await house.stored.list()).toHaveLength(2);
});

test("a store that cannot remove tokens is reported, and keeps nobody out", async () => {
  await using house = new House();
  house.addEnded(1, noon - 91 * day);
  const token = await house.issue("ci");
  house.sql.run("CREATE TRIGGER refuse BEFORE DELETE ON tokens BEGIN SELECT RAISE(ABORT, 'read-only'); END");
  await house.known.start();
  await house.until(() => house.failures.length > 0);
  expect(house.failures).toEqual(["tokenRemovalFailed: read-only"]);
  expect(await house.known.lookup(token)).toMatchObject({ name: "ci" });
});
