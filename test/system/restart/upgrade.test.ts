// Schema upgrades: a store of an earlier version is upgraded with all its data, or is an error that says what to do.

import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { Client } from "pg";
import { engines } from "../../support/engines.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, run } from "../../support/server.ts";
import { listedTokens } from "../../support/token-list.ts";

const token = "pst_0123456789012345678901234567890123456789012";
const revoked = "pst_revoked890123456789012345678901234567890123";
const hashOf = (text: string) => Bun.SHA256.hash(text, "base64url");

const contents = `
  INSERT INTO plants (id, name, tag) VALUES (9007199254740993, 'Monstera', 'tropical');
  INSERT INTO tokens (hash, name, created_at, expires_at, revoked_at) VALUES
    ('${hashOf(revoked)}', 'old', 1700000000000, NULL, 1700000000001),
    ('${hashOf(token)}', 'ci', 1700000000002, 4100000000000, NULL);`;

type OldVersion = 1 | 2;

/** The migration of version 2 as released; the engines differ in the type. */
const version2 = (type: "INTEGER" | "bigint") => `
  ALTER TABLE tokens ADD COLUMN predecessors_end_at ${type};
  ALTER TABLE tokens ADD COLUMN last_used_at ${type};`;

/** Creates a store with an earlier version of the schema: the statements of its release, and the rows of a server. */
const makeOld: Readonly<Record<string, (database: string, version: OldVersion) => Promise<void>>> = {
  async sqlite(database, version) {
    const file = new Database(database.slice("sqlite:".length), { create: true, readwrite: true });
    file.run("PRAGMA journal_mode = WAL");
    file.run(`
      CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT;
      CREATE TABLE tokens (
        hash TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL, expires_at INTEGER,
        revoked_at INTEGER
      ) STRICT, WITHOUT ROWID;
      PRAGMA application_id = 1886154356;
      PRAGMA user_version = ${version};
      ${version === 2 ? version2("INTEGER") : ""}
      ${contents}`);
    file.close();
  },
  async postgres(database, version) {
    const client = new Client({ connectionString: database });
    await client.connect();
    await client.query(`
      CREATE TABLE plantstore_schema (only_row bool PRIMARY KEY, version int4 NOT NULL, CHECK (only_row));
      INSERT INTO plantstore_schema VALUES (true, ${version});
      CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text);
      CREATE TABLE tokens (
        hash text PRIMARY KEY, name text NOT NULL, created_at bigint NOT NULL, expires_at bigint,
        revoked_at bigint
      );
      ${version === 2 ? version2("bigint") : ""}
      ${contents}`);
    await client.end();
  },
};

for (const engine of engines) {
  describe(engine.name, () => {
    async function old(version: OldVersion): Promise<Awaited<ReturnType<typeof engine.createTestStore>>> {
      const place = await engine.createTestStore();
      await makeOld[engine.name]?.(place.database, version);
      return place;
    }

    test.each([1, 2] as const)(
      "a store of version %d keeps its plants and tokens when several processes upgrade it at once",
      async (version) => {
        await using place = await old(version);
        const { database } = place;
        const migrated = await Promise.all(
          Array.from({ length: 4 }, () => run(["migrate", "--database", database])),
        );
        expect(migrated.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
        expect(await listedTokens(database)).toMatchObject([
          {
            name: "old",
            state: "revoked",
            expires: null,
            revoked: "2023-11-14T22:13:20.001Z",
            lastUsed: null,
          },
          {
            name: "ci",
            state: "active",
            created: "2023-11-14T22:13:20.002Z",
            revoked: null,
            lastUsed: null,
          },
        ]);

        const server = await RunningServer.start({ database, args: ["--migrate", "off"] });
        const { url } = server;
        expect(
          (await post({ url, token }, plantJson(9007199254740993n, "Monstera", "tropical"))).status,
        ).toBe(200);
        expect((await post({ url, token }, plantJson(9007199254740993n, "Ficus"))).status).toBe(400);
        expect((await post({ url, token: revoked }, plantJson(1n, "Ficus"))).status).toBe(401);
        expect((await server.command("token", "rotate", "ci")).exitCode).toBe(0);
        expect((await server.stop()).stdout).not.toContain("pst_");
        expect((await listedTokens(database))[1]).toMatchObject({
          state: "rotated",
          lastUsed: expect.any(String),
        });
      },
    );

    test("serve upgrades the store", async () => {
      await using place = await old(2);
      await using server = await RunningServer.start(place);
      expect((await post({ url: server.url, token }, plantJson(1n, "Ficus"))).status).toBe(200);
    });

    test("with --migrate off the error says what to do, and nothing is changed", async () => {
      await using place = await old(1);
      const serve = ["serve", "--port", "0", "--admin-port", "off", "--migrate", "off"];
      for (const command of [serve, ["token", "list"], ["token", "rotate", "ci"], ["export"]]) {
        const { exitCode, stdout, stderr } = await run([...command, "--database", place.database]);
        expect({ command, exitCode, stdout }).toEqual({ command, exitCode: 1, stdout: "" });
        expect(stderr).toMatch(
          /^plantstore: [^\n]+ has schema version 1, but this program needs 3; run "plantstore migrate" first\n$/,
        );
      }
    });
  });
}
