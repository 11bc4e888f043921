// Settings of PostgreSQL with which commits could be lost: overridden if a session can, and
// otherwise rejected when one is opened.

import { describe, expect, test } from "bun:test";
import { compiler } from "../../../src/openapi/compiler.ts";
import { storeAt } from "../../../src/store/open-store.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { plant, plantStore } from "../../support/contracts.ts";
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
      await database.query("postgres", `ALTER ROLE postgres SET synchronous_commit = ${weak}`);
      await database.alterSystem(`SET synchronous_commit = ${weak}`);
      await using server = await RunningServer.startInProcess({ database: address });
      const target = await server.target();
      const create = async (id: bigint) => (await post(target, plantJson(id, "Monstera"))).status;
      await using store = await storeAt(address).open("existing", () => undefined, { compiler });
      expect(await create(1n)).toBe(200);
      expect(await store.create(toEntries(plantStore, [{ id: 2n, name: "Monstera" }].map(plant)))).toEqual([
        "created",
      ]);
      await database.awaitMissingStandby();

      const ids = [1_000_001n, 1_000_002n, 1_000_003n];
      expect(await Promise.all(ids.map(create))).toEqual([503, 503, 503]);
      const many = Array.from({ length: 2_500 }, (_, index) =>
        plant({ id: 2_000_000n + BigInt(index), name: "Monstera" }),
      );
      const [replay, outcomes, revocation] = await Promise.all([
        // Committed on the primary alone.
        create(1_000_001n),
        store.create(toEntries(plantStore, many)),
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
      // Without the short time limits of the server.
      expect((await runCommand(["token", "list", "--database", database.address("postgres")])).exitCode).toBe(
        0,
      );
    },
  );
});
