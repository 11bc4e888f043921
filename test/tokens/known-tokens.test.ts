// When a running server notes and stores last uses, on a real store with a clock that the test moves.

import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { openDatabase } from "../../src/store/sqlite/database.ts";
import { SqliteTokens } from "../../src/store/sqlite/tokens.ts";
import { KnownTokens } from "../../src/tokens/known-tokens.ts";
import { makeToken, randomBytes } from "../../src/tokens/token.ts";
import { TemporaryFolder } from "../harness/server.ts";

const noon = Date.UTC(2026, 5, 1, 12);
const minute = 60_000;

/** The tokens of a store, and how often they were read. */
class CountingTokens extends SqliteTokens {
  lists = 0;

  override list(): ReturnType<SqliteTokens["list"]> {
    this.lists++;
    return super.list();
  }
}

/** A store with tokens, the tokens that a server knows, and the clock of both. */
class House implements AsyncDisposable {
  now = noon;
  readonly failures: string[] = [];
  readonly stored: CountingTokens;
  readonly known: KnownTokens;
  readonly sql: Database;
  readonly #folder = new TemporaryFolder();
  readonly #database;

  constructor() {
    this.#database = openDatabase(this.#folder.file("plants.db"), "create");
    this.sql = new Database(this.#folder.file("plants.db"));
    this.stored = new CountingTokens(this.#database);
    this.known = new KnownTokens(
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

  /** Waits until the server has looked at its clock once more: it does so after a load, which the next load follows. */
  async aTick(): Promise<void> {
    const after = this.stored.lists + 2;
    await this.until(() => this.stored.lists >= after);
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
    expect(await house.known.accepted(used)).toMatchObject({ name: "used" });
    expect(await house.known.accepted(refused)).toBeUndefined();
    expect(await house.known.accepted("pst_unknown")).toBeUndefined();
  }
  house.now = noon + 4 * minute;
  await house.until(async () => (await house.lastUses()).used !== undefined);
  expect(await house.lastUses()).toEqual({ used: 3, expired: undefined, unused: undefined });

  // Used again and again in one minute, it is one write; a minute without a use is none.
  for (const seconds of [1, 20, 59]) {
    house.now = noon + 4 * minute + seconds * 1_000;
    await house.known.accepted(used);
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
  await house.known.accepted(token);
  await house.known.stop();
  expect(await house.lastUses()).toEqual({ ci: 1 });
});

test("a later use that another server has stored stays", async () => {
  await using house = new House();
  const token = await house.issue("ci");
  await house.known.start();
  const record = await house.known.accepted(token);
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
  await house.known.accepted(token);
  house.now = noon + minute;
  await house.until(() => house.failures.length > 0);
  expect(house.failures).toEqual(["tokenUsesUnstored: read-only"]);
  expect(await house.known.accepted(token)).toMatchObject({ name: "ci" });
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
  await house.known.accepted(token);
  await house.known.stop();
  expect(house.failures).toEqual(["tokenUsesUnstored: read-only"]);
  house.sql.run("DROP TRIGGER refuse");
});
