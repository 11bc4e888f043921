// Settings of PostgreSQL with which commits could be lost: overridden if a client can, and otherwise rejected, also while a server runs.

import { expect, setDefaultTimeout, test } from "bun:test";
import { openStore } from "../../../src/store/open-store.ts";
import { plantJson, post } from "../../support/http.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { RunningServer, run } from "../../support/server.ts";

setDefaultTimeout(90_000);

async function set(database: PostgresServer, ...settings: string[]): Promise<void> {
  for (const setting of settings) await database.query("postgres", `ALTER SYSTEM SET ${setting}`);
  await database.query("postgres", "SELECT pg_reload_conf()");
}

/** Waits until a new configuration has reached new sessions. */
async function untilShown(database: PostgresServer, name: string, value: string): Promise<void> {
  while ((await database.query("postgres", `SHOW ${name}`))[0]?.[name] !== value) await Bun.sleep(20);
}

test.each(["off", "local", "remote_write"])(
  "with synchronous_commit %s of the server's, or of its role, no create is acknowledged without the standby",
  async (weak) => {
    await using database = await PostgresServer.start();
    const address = database.address("postgres", [], "?statement_timeout=1&retry_timeout=1");
    await using server = await RunningServer.start({ database: address });
    const target = { url: server.url, token: await server.createToken() };
    const store = await openStore(address, "existing", () => undefined);
    expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
    expect(await store.create([{ id: 2n, name: "Monstera" }])).toEqual(["created"]);

    // While both run; and for sessions that begin afterwards.
    await database.query("postgres", `ALTER ROLE postgres SET synchronous_commit = ${weak}`);
    await set(database, `synchronous_commit = ${weak}`, "synchronous_standby_names = 'nobody'");
    await untilShown(database, "synchronous_standby_names", "nobody");
    await untilShown(database, "synchronous_commit", weak);

    // A backend may be in the middle of its last statement with the old configuration, and no more than that.
    for (const id of [3n, 4n, 5n, 6n, 7n]) await post(target, plantJson(id, "Monstera"));
    for (let id = 10n; id < 13n; id++)
      expect((await post(target, plantJson(id, "Monstera"))).status).toBe(503);
    // A replay of what is committed on the primary alone, too.
    expect((await post(target, plantJson(10n, "Monstera"))).status).toBe(503);
    const many = Array.from({ length: 2_500 }, (_, index) => ({
      id: 1_000n + BigInt(index),
      name: "Monstera",
    }));
    expect(new Set(await store.create(many))).toEqual(new Set(["unavailable"]));
    await expect(store.tokens.revoke("first", 1_000)).rejects.toThrow("the database request failed");

    await set(database, "synchronous_standby_names = ''");
    while ((await post(target, plantJson(10n, "Monstera"))).status !== 200);
    expect((await run(["check", "--database", address])).exitCode).toBe(0);
    await store.close();
  },
);

test.each([
  ["fsync", "has fsync off, so that commits can be lost; set it to on"],
  ["full_page_writes", "has full_page_writes off, so that a power cut can tear pages"],
])("a server whose %s is off is refused at the start, and while it runs", async (name, reason) => {
  await using database = await PostgresServer.start();
  const address = database.address("postgres", [], "?statement_timeout=1&retry_timeout=1");
  await using server = await RunningServer.start({ database: address });
  const target = { url: server.url, token: await server.createToken() };
  const ready = async () => (await fetch(`${await server.adminUrl()}/readyz`)).text();
  let id = 0n;
  expect((await post(target, plantJson(id++, "Monstera"))).status).toBe(200);

  await set(database, `${name} = off`);
  await untilShown(database, name, "off");
  while ((await post(target, plantJson(id++, "Monstera"))).status === 200);
  expect((await post(target, plantJson(id++, "Monstera"))).status).toBe(503);
  expect(await ready()).toContain(reason);
  const line = await server.logged(({ msg }) => msg.startsWith("store unavailable"));
  expect(line.reason).toContain(reason);
  const started = await run(["serve", "--port", "0", "--admin-port", "off", "--database", address]);
  expect(started.exitCode).toBe(1);
  expect(started.stderr).toContain(`127.0.0.1:${database.port}: ${reason}`);

  await set(database, `${name} = on`);
  while ((await post(target, plantJson(id, "Monstera"))).status !== 200);
});

test("full_page_writes may be off if the URL says that the storage never tears pages", async () => {
  await using database = await PostgresServer.start({ full_page_writes: "off" });
  const migrate = (query: string) => run(["migrate", "--database", database.address("postgres", [], query)]);
  expect((await migrate("?retry_timeout=1")).exitCode).toBe(1);
  expect((await migrate("?full_page_writes=off")).exitCode).toBe(0);
  expect(await migrate("?full_page_writes=perhaps")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining('full_page_writes is "perhaps", but must be on or off'),
  });
});
