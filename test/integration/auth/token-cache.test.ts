// The tokens of a running server, on a real store, with a wall clock that the test sets and timers
// that it advances.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { hashToken, makeToken, randomBytes } from "../../../src/auth/token.ts";
import { TokenCache, unknownToken } from "../../../src/auth/token-cache.ts";
import { compiler } from "../../../src/openapi/compiler.ts";
import { SqlTokens } from "../../../src/store/shared/sql-tokens.ts";
import { openDatabase } from "../../../src/store/sqlite/connection.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { tokenDatabase } from "../../support/sqlite-tokens.ts";
import { VirtualTime } from "../../support/virtual-time.ts";

const noon = Date.UTC(2026, 5, 1, 12);
const second = 1_000;
const minute = 60_000;
const year = 365 * 86_400_000;

class CountingTokens extends SqlTokens {
  reads = 0;
  /** The next reads wait for this. */
  gate: Promise<unknown> = Promise.resolve();

  override async readUnlessVersion(known: number | undefined): ReturnType<SqlTokens["readUnlessVersion"]> {
    this.reads++;
    await this.gate;
    return super.readUnlessVersion(known);
  }
}

/** A store with tokens, a cache of them, and their clocks. */
class TestCache implements AsyncDisposable {
  now = noon;
  readonly failures: string[] = [];
  readonly stored: CountingTokens;
  readonly cache: TokenCache;
  readonly sql: Database;
  readonly #time = new VirtualTime();
  readonly #folder: TemporaryFolder;
  readonly #database: Database;

  private constructor(folder: TemporaryFolder, database: Database) {
    this.#folder = folder;
    this.#database = database;
    this.sql = new Database(folder.file("plants.db"));
    this.stored = new CountingTokens(tokenDatabase(database));
    this.cache = new TokenCache(
      this.stored,
      () => this.now,
      (event) => this.failures.push(`${event.kind}: ${"reason" in event ? event.reason : ""}`),
    );
  }

  static async open(): Promise<TestCache> {
    const folder = new TemporaryFolder();
    const { database } = await openDatabase(folder.file("plants.db"), "create", { compiler });
    return new TestCache(folder, database);
  }

  async issue(name: string, expiresAt: number | null = null): Promise<string> {
    const { token, record } = makeToken({ name, expiresAt }, { now: noon, randomBytes });
    await this.stored.add(record);
    return token;
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

  /** Advances the timers until a promise is settled. */
  async after<T>(promise: T | Promise<T>): Promise<T> {
    return await this.#time.until(Promise.resolve(promise), minute);
  }

  /** Advances the timers. */
  pass(ms: number): Promise<void> {
    return this.#time.until(this.#time.sleep(ms), ms);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.after(this.cache.stop());
    this.#time[Symbol.dispose]();
    this.sql.close();
    this.#database.close();
    this.#folder[Symbol.dispose]();
  }
}

test("a known token is accepted without a promise, by its credentials too, until it ends", async () => {
  await using fixture = await TestCache.open();
  const token = await fixture.issue("ci", noon + 1_000);
  await fixture.after(fixture.cache.start());
  expect(fixture.cache.callerByCredentials(`Bearer ${token}`)).toBeUndefined();
  const caller = fixture.cache.callerByToken(token, `Bearer ${token}`);
  expect(caller).toMatchObject({ name: "ci", key: hashToken(token), creator: expect.any(Number) });
  expect(fixture.cache.callerByCredentials(`Bearer ${token}`)).toBe(caller as never);
  fixture.now = noon + 1_000;
  expect(fixture.cache.callerByCredentials(`Bearer ${token}`)).toBeUndefined();
  expect(await fixture.after(fixture.cache.callerByToken(token))).toBe(unknownToken);
  fixture.now = noon;
  expect(fixture.cache.callerByToken(token)).toBe(caller as never);
});

test("changes in the store are effective with the next read, and one without changes reads no tokens", async () => {
  await using fixture = await TestCache.open();
  const [kept, revoked] = [await fixture.issue("kept"), await fixture.issue("revoked")];
  await fixture.after(fixture.cache.start());
  await fixture.after(fixture.cache.callerByToken(revoked, "credentials"));
  await fixture.stored.revoke("revoked", noon);
  await fixture.pass(second);
  expect(fixture.cache.callerByCredentials("credentials")).toBeUndefined();
  expect(await fixture.after(fixture.cache.callerByToken(revoked))).toBe(unknownToken);
  expect(await fixture.after(fixture.cache.callerByToken(kept))).toMatchObject({ name: "kept" });
  const version = fixture.sql.query("SELECT version FROM token_version").values()[0]?.[0] as number;
  expect(await fixture.stored.readUnlessVersion(version)).toBeUndefined();
  const issued = await fixture.issue("new");
  await fixture.pass(second);
  expect(fixture.cache.callerByToken(issued)).toMatchObject({ name: "new" });
});

test("unknown tokens share reads of the store, with a pause between two, and a new token works at once", async () => {
  await using fixture = await TestCache.open();
  await fixture.after(fixture.cache.start());
  const first = await fixture.issue("first");
  expect(await fixture.after(fixture.cache.callerByToken(first))).toMatchObject({ name: "first" });
  const second = await fixture.issue("second");
  const reads = fixture.stored.reads;
  const strangers = Array.from({ length: 50 }, (_, index) => fixture.cache.callerByToken(`pst_${index}`));
  expect(await fixture.after(fixture.cache.callerByToken(second))).toMatchObject({ name: "second" });
  for (const result of await fixture.after(Promise.all(strangers))) expect(result).toBe(unknownToken);
  expect(fixture.stored.reads).toBe(reads + 1);
});

test("of unknown tokens during a read 1,024 wait for it, with long bodies 64, and others are unavailable at once", async () => {
  await using fixture = await TestCache.open();
  await fixture.after(fixture.cache.start());
  const token = await fixture.issue("ci");
  const gate = Promise.withResolvers<void>();
  fixture.stored.gate = gate.promise;
  const withLongBody = Array.from({ length: 65 }, () => fixture.cache.callerByToken(token, token, true));
  expect(withLongBody.filter((lookup) => lookup instanceof Promise)).toHaveLength(64);
  const lookups = [
    ...withLongBody,
    ...Array.from({ length: 1_100 }, () => fixture.cache.callerByToken(token)),
  ];
  expect(lookups.filter((lookup) => lookup instanceof Promise)).toHaveLength(1_024);
  for (const refused of [withLongBody[64], lookups.at(-1)])
    expect(refused).toMatchObject({ code: "unavailable", details: { retryAfterSeconds: 1 } });
  gate.resolve();
  expect(await fixture.after(lookups[0])).toMatchObject({ name: "ci" });
  await fixture.after(Promise.all(lookups));
  expect(await fixture.after(fixture.cache.callerByToken("pst_unknown"))).toBe(unknownToken);
});

test("while the store is away known tokens stay accepted, and unknown ones are unavailable", async () => {
  await using fixture = await TestCache.open();
  const [token, lost] = [await fixture.issue("ci"), await fixture.issue("lost")];
  await fixture.after(fixture.cache.start());
  for (const each of [token, lost]) await fixture.after(fixture.cache.callerByToken(each));
  fixture.sql.run("ALTER TABLE token_version RENAME TO away");
  await fixture.pass(second);
  expect(fixture.failures[0]).toStartWith("tokenReloadFailed: ");
  expect(fixture.cache.callerByToken(token)).toMatchObject({ name: "ci" });
  expect(await fixture.after(fixture.cache.callerByToken("pst_unknown"))).toMatchObject({
    code: "unavailable",
  });
  // It returns as a standby without the latest changes, whose next one has the version of the last.
  fixture.sql.run("DELETE FROM tokens WHERE name = 'lost'");
  fixture.sql.run("ALTER TABLE away RENAME TO token_version");
  await fixture.pass(second);
  for (const gone of ["pst_unknown", lost])
    expect(await fixture.after(fixture.cache.callerByToken(gone))).toBe(unknownToken);
});

test("a read that fails is reported once, however many unknown tokens wait for it", async () => {
  await using fixture = await TestCache.open();
  await fixture.after(fixture.cache.start());
  fixture.sql.run("ALTER TABLE token_version RENAME TO away");
  const lookups = Array.from({ length: 100 }, (_, index) => fixture.cache.callerByToken(`pst_${index}`));
  for (const result of await fixture.after(Promise.all(lookups)))
    expect(result).toMatchObject({ code: "unavailable" });
  expect(fixture.failures).toEqual([expect.stringMatching(/^tokenReloadFailed: .*token_version/)]);
  expect(await fixture.after(fixture.cache.readAfter()).catch(() => "rejected")).toBe("rejected");
  expect(fixture.failures).toHaveLength(2);
});

test("unknown tokens wait for a change that is under way, and a failed one is reported", async () => {
  await using fixture = await TestCache.open();
  await fixture.after(fixture.cache.start());
  const { token, record } = makeToken({ name: "first", expiresAt: null }, { now: noon, randomBytes });
  const printed = Promise.withResolvers<void>();
  const changing = fixture.cache.readAfter(printed.promise.then(() => fixture.stored.add(record)));
  const lookup = fixture.cache.callerByToken(token);
  await fixture.pass(second);
  printed.resolve();
  expect(await fixture.after(lookup)).toMatchObject({ name: "first" });
  await fixture.after(changing);
  const failed = fixture.cache.readAfter(Promise.reject(new Error("broken")));
  expect(await fixture.after(failed.catch((error) => error.message))).toBe("broken");
});

test("the last use is stored once a minute, to the minute, and when the server stops", async () => {
  await using fixture = await TestCache.open();
  const token = await fixture.issue("used");
  await fixture.issue("unused");
  await fixture.issue("revoked");
  fixture.sql.run("CREATE TABLE writes (minute INTEGER)");
  fixture.sql.run(
    "CREATE TRIGGER log AFTER UPDATE OF last_used_at ON tokens BEGIN INSERT INTO writes VALUES (new.last_used_at); END",
  );
  await fixture.after(fixture.cache.start());
  for (const seconds of [1, 20, 59]) {
    fixture.now = noon + seconds * 1_000;
    await fixture.after(fixture.cache.callerByToken(token));
  }
  expect(await fixture.lastUses()).toEqual({ used: undefined, unused: undefined, revoked: undefined });
  // The tokens are read again meanwhile.
  await fixture.stored.revoke("revoked", noon);
  await fixture.pass(second);
  fixture.now = noon + minute;
  await fixture.pass(second);
  expect(await fixture.lastUses()).toEqual({ used: 0, unused: undefined, revoked: undefined });
  fixture.now = noon + 2 * minute;
  await fixture.pass(second);
  expect(fixture.sql.query("SELECT count(*) FROM writes").values()).toEqual([[1]]);
  await fixture.after(fixture.cache.callerByToken(token));
  await fixture.after(fixture.cache.stop());
  expect(await fixture.lastUses()).toEqual({ used: 2, unused: undefined, revoked: undefined });
});

test("a clock that is a year ahead or behind removes nothing: tokens are the same once it is right again", async () => {
  await using fixture = await TestCache.open();
  const tokens = [await fixture.issue("ci"), await fixture.issue("brief", noon + minute)];
  await fixture.issue("revoked");
  await fixture.stored.revoke("revoked", noon);
  const stored = await fixture.stored.list();
  for (const wrong of [noon + year, noon - year]) {
    fixture.now = wrong;
    const other = new TokenCache(
      fixture.stored,
      () => wrong,
      () => undefined,
    );
    await fixture.after(other.start());
    expect(await fixture.after(other.callerByToken("pst_unknown"))).toBe(unknownToken);
    await fixture.after(other.stop());
  }
  fixture.now = noon;
  await fixture.after(fixture.cache.start());
  for (const token of tokens)
    expect(await fixture.after(fixture.cache.callerByToken(token))).not.toBe(unknownToken);
  expect(await fixture.stored.list()).toEqual(stored);
});

test("the last use of a token that is revoked is kept", async () => {
  await using fixture = await TestCache.open();
  const token = await fixture.issue("leaked");
  await fixture.after(fixture.cache.start());
  fixture.now = noon + 3 * minute;
  await fixture.after(fixture.cache.callerByToken(token));
  await fixture.after(fixture.cache.readAfter(fixture.stored.revoke("leaked", fixture.now)));
  await fixture.pass(0);
  expect(await fixture.lastUses()).toEqual({ leaked: 3 });
});
