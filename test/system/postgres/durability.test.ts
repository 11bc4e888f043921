// Settings of PostgreSQL with which commits could be lost: overridden if a client can, and
// otherwise rejected, also while a server runs.

import { describe, expect, test } from "bun:test";
import { storeAt } from "../../../src/core/store/open-store.ts";
import { toEntries } from "../../../src/core/store/plant-store.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { RunningServer, runCommand } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

// Most of their time is waits for time-outs, so they run concurrently.
describe.concurrent("settings with which commits could be lost", () => {
  test.each(["off", "remote_write"])(
    "no create is acknowledged without the standby with synchronous_commit %s of the server, or of its role",
    async (weak) => {
      await using database = await PostgresServer.start();
      const address = database.address("postgres", [], "?statement_timeout=1&retry_timeout=1");
      await using server = await RunningServer.startInProcess({ database: address });
      const target = await server.target();
      const create = async (id: bigint) => (await post(target, plantJson(id, "Monstera"))).status;
      await using store = await storeAt(address).open("existing", () => undefined);
      expect(await create(1n)).toBe(200);
      expect(await store.create(toEntries([{ id: 2n, name: "Monstera" }]))).toEqual(["created"]);

      // For the sessions of both, which go on, and for those that start afterwards.
      await database.query("postgres", `ALTER ROLE postgres SET synchronous_commit = ${weak}`);
      await database.alterSystem(`SET synchronous_commit = ${weak}`);
      await database.awaitMissingStandby();

      const ids = [1_000_001n, 1_000_002n, 1_000_003n];
      expect(await Promise.all(ids.map(create))).toEqual([503, 503, 503]);
      const many = Array.from({ length: 2_500 }, (_, index) => ({
        id: 2_000_000n + BigInt(index),
        name: "Monstera",
      }));
      const [replay, outcomes, revocation] = await Promise.all([
        // Committed on the primary alone by now.
        create(1_000_001n),
        store.create(toEntries(many)),
        settled(store.tokens.revoke("first", 1_000)),
      ]);
      expect(replay).toBe(503);
      expect(new Set(outcomes)).toEqual(new Set(["unavailable"]));
      expect(revocation).toThrow("the database request failed");

      await database.alterSystem("RESET synchronous_standby_names");
      await eventually(
        "the plant is acknowledged",
        () => create(1_000_001n),
        (status) => status === 200,
      );
      expect((await runCommand(["check", "--database", address])).exitCode).toBe(0);
    },
  );

  test("no create is acknowledged whose wait for the standby was cancelled", async () => {
    await using database = await PostgresServer.start();
    const address = database.address("postgres", [], "?statement_timeout=20&retry_timeout=1");
    await using store = await storeAt(address).open("create", () => undefined);
    await database.awaitMissingStandby();
    let isCancelling = true;
    const cancelling = (async () => {
      const waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
      while (isCancelling) {
        await database.query("postgres", waiting);
        await Bun.sleep(10);
      }
    })();
    const plants = (length: number, first: bigint) =>
      toEntries(Array.from({ length }, (_, index) => ({ id: first + BigInt(index), name: "Fern" })));
    // By INSERT, again, and by COPY.
    for (const batch of [plants(3, 1_000n), plants(3, 1_000n), plants(2_500, 2_000n)])
      expect(new Set(await store.create(batch))).toEqual(new Set(["unavailable"]));
    const token = { hash: "0", name: "ci", createdAt: 1, expiresAt: null };
    expect(await settled(store.tokens.add(token))).toThrow("standby was cancelled");
    isCancelling = false;
    await cancelling;
    await database.alterSystem("RESET synchronous_standby_names");
  });

  test.each([
    ["fsync", "has fsync off, so that commits can be lost; set it to on"],
    ["full_page_writes", "has full_page_writes off, so that a power cut can tear pages"],
  ])("a server is refused at the start, and while it runs, whose %s is off", async (name, reason) => {
    await using database = await PostgresServer.start();
    const address = database.address("postgres", [], "?statement_timeout=1&retry_timeout=1");
    await using server = await RunningServer.startInProcess({ database: address });
    const target = await server.target();
    const ready = async () => (await fetch(`${await server.adminUrl()}/readyz`)).text();
    let id = 0n;
    expect((await post(target, plantJson(id++, "Monstera"))).status).toBe(200);

    await database.alterSystem(`SET ${name} = off`);
    // A create that is refused may only have been slow.
    await eventually(
      "creates are refused for this reason",
      async () => [(await post(target, plantJson(id++, "Monstera"))).status, await ready()] as const,
      ([status, state]) => status === 503 && state.includes(reason),
    );
    const started = await runCommand(["serve", "--port", "0", "--admin-port", "off", "--database", address]);
    expect(started.exitCode).toBe(1);
    expect(started.stderr).toContain(`127.0.0.1:${database.port}: ${reason}`);

    await database.alterSystem(`SET ${name} = on`);
    await eventually(
      "creates are accepted",
      () => post(target, plantJson(id, "Monstera")),
      ({ status }) => status === 200,
    );
  });

  test("full_page_writes may be off if the URL says that the storage never tears pages", async () => {
    await using database = await PostgresServer.start({ full_page_writes: "off" });
    const migrate = (query: string) =>
      runCommand(["migrate", "--database", database.address("postgres", [], query)]);
    expect((await migrate("?retry_timeout=1")).exitCode).toBe(1);
    expect((await migrate("?full_page_writes=off")).exitCode).toBe(0);
  });
});
