// Schema upgrades: a store of an earlier version is upgraded with all its data, or is an error that says what to do.

import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { newestVersion as newestPostgres } from "../../../src/core/store/postgres/migrations.ts";
import { newestVersion as newestSqlite } from "../../../src/core/store/sqlite/migrations.ts";
import { engines } from "../../support/engines.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, run } from "../../support/server.ts";
import { listedTokens } from "../../support/token-list.ts";
import tokens from "./stores/tokens.json";

/**
 * A store of each schema version, written by the commands of that version's last commit: migrate, token create, revoke and rotate,
 * and import. Those of PostgreSQL are dumps of pg_dump --inserts.
 */
const stores = join(import.meta.dir, "stores");

/** Of every store, as an export prints them. */
const plants = [
  '{"id":-9223372036854775808,"name":"Ficus 🌿"}',
  '{"id":0,"name":"Aloe","tag":""}',
  '{"id":9007199254740993,"name":"Monstera deliciosa","tag":"tropical"}\n',
].join("\n");

const newestVersions: Readonly<Record<string, number>> = { sqlite: newestSqlite, postgres: newestPostgres };

/** A released version of the schema. */
type OldVersion = 1 | 2 | 3;
const oldVersions: readonly OldVersion[] = [1, 2, 3];

/** Loads a store into an address where there is none. */
const load: Readonly<Record<string, (database: string, version: OldVersion) => Promise<void>>> = {
  async sqlite(database, version) {
    copyFileSync(join(stores, `sqlite-${version}.db`), database.slice("sqlite:".length));
  },
  async postgres(database, version) {
    const client = new Client({ connectionString: database });
    await client.connect();
    await client.query(await Bun.file(join(stores, `postgres-${version}.sql`)).text());
    await client.end();
  },
};

// An engine without an entry has one version.
for (const engine of engines.filter(({ name }) => Object.hasOwn(load, name))) {
  describe(engine.name, () => {
    async function old(version: OldVersion): Promise<Awaited<ReturnType<typeof engine.createTestStore>>> {
      const place = await engine.createTestStore();
      await load[engine.name]?.(place.database, version);
      return place;
    }

    test("every earlier schema version has a store here", () => {
      const earlier = Array.from(
        { length: (newestVersions[engine.engine] ?? 0) - 1 },
        (_, index) => index + 1,
      );
      expect(earlier.length).toBeGreaterThan(0);
      const extension = engine.engine === "sqlite" ? "db" : "sql";
      const missing = earlier.filter(
        (version) => !existsSync(join(stores, `${engine.engine}-${version}.${extension}`)),
      );
      expect(missing).toEqual([]);
      expect(earlier.filter((version) => !oldVersions.some((old) => old === version))).toEqual([]);
    });

    test.each(oldVersions)(
      "a store of version %d keeps its plants and tokens when several processes upgrade it at once",
      async (version) => {
        await using place = await old(version);
        const { database } = place;
        const migrated = await Promise.all(
          Array.from({ length: 4 }, () => run(["migrate", "--database", database])),
        );
        expect(migrated.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0, 0]);
        const { ci, old: revoked } = tokens[`${engine.name}-${version}` as keyof typeof tokens];
        const listed = await listedTokens(database);
        const expected = { expires: null, lastUsed: null };
        expect(listed).toMatchObject([
          { ...expected, name: "ci", state: "active", created: ci.created, revoked: null },
          { ...expected, name: "old", state: "revoked", created: revoked.created, revoked: revoked.revoked },
          // Rotated, which version 1 did not know.
          ...(version === 1 ? [] : [{ name: "worker" }, { name: "worker", state: "active", expires: null }]),
        ]);
        const exported = await run(["export", "--database", database]);
        expect(exported.stdout).toBe(plants);

        const server = await RunningServer.start({ database, args: ["--migrate", "off"] });
        const { url } = server;
        const same = plantJson(9007199254740993n, "Monstera deliciosa", "tropical");
        expect((await post({ url, token: ci.token }, same)).status).toBe(200);
        const other = plantJson(9007199254740993n, "Ficus");
        expect((await post({ url, token: ci.token }, other)).status).toBe(400);
        expect((await post({ url, token: revoked.token }, plantJson(1n, "Ficus"))).status).toBe(401);
        expect((await server.command("token", "rotate", "ci")).exitCode).toBe(0);
        expect((await server.stop()).stdout).not.toContain("pst_");
        expect((await listedTokens(database))[0]).toMatchObject({
          name: "ci",
          state: "rotated",
          lastUsed: expect.any(String),
        });
      },
    );

    test("serve upgrades the store", async () => {
      await using place = await old(2);
      await using server = await RunningServer.start(place);
      const { token } = tokens[`${engine.name}-2` as keyof typeof tokens].ci;
      expect((await post({ url: server.url, token }, plantJson(1n, "Ficus"))).status).toBe(200);
    });

    test("with --migrate off the error says what to do, and nothing is changed", async () => {
      await using place = await old(1);
      const serve = ["serve", "--port", "0", "--admin-port", "off", "--migrate", "off"];
      for (const command of [serve, ["token", "list"], ["token", "rotate", "ci"], ["export"]]) {
        const { exitCode, stdout, stderr } = await run([...command, "--database", place.database]);
        expect({ command, exitCode, stdout }).toEqual({ command, exitCode: 1, stdout: "" });
        expect(stderr.match(/^plantstore: .+ (has schema version 1, but .+)\n$/)?.[1]).toBe(
          `has schema version 1, but this program needs ${newestVersions[engine.engine]}; run "plantstore migrate" first`,
        );
      }
    });
  });
}
