// A replay is acknowledged once its plant is as durable as a commit of the server's own.

import { expect, setDefaultTimeout, test } from "bun:test";
import { storeAt } from "../../../src/core/store/open-store.ts";
import { type PlantStore, toEntries } from "../../../src/core/store/plant-store.ts";
import { eventually } from "../../support/eventually.ts";
import { PostgresServer } from "../../support/postgres.ts";
import { createStore, withStore } from "../../support/server.ts";

setDefaultTimeout(90_000);

const create = (store: PlantStore, id: bigint) => store.create(toEntries([{ id, name: "Fern" }]));

test("a plant that another program committed without a wait for the disk survives a crash", async () => {
  await using database = await PostgresServer.start({ wal_writer_delay: "10s" });
  const address = database.address("postgres");
  await withStore(address, "create", async (store) => {
    expect(await create(store, 1n)).toEqual(["created"]);
    const insert = "SET synchronous_commit = off; INSERT INTO plants (id, name) VALUES (2, 'Fern')";
    await database.query("postgres", insert);
    expect(await create(store, 2n)).toEqual(["unchanged"]);
    await database.stop("SIGKILL");
  });
  await database.run();
  expect(await withStore(address, "existing", (store) => store.count({}))).toBe(2);
});

test("a role without UPDATE, and without warnings of PostgreSQL, can replay, and gets no 200 if the wait for the standby is cancelled", async () => {
  await using primary = await PostgresServer.start();
  await createStore(primary.address("postgres"));
  await primary.query(
    "postgres",
    `CREATE USER server; GRANT SELECT ON plantstore_schema TO server; GRANT SELECT, INSERT ON plants TO server;
     ALTER ROLE server SET client_min_messages = error`,
  );
  await using standby = await PostgresServer.standbyOf(primary, "standby");
  await primary.alterSystem("SET synchronous_standby_names = 'standby'");
  await eventually("the standby is synchronous", async () => {
    const [row] = await primary.query("postgres", "SELECT sync_state FROM pg_stat_replication");
    return row?.sync_state === "sync";
  });
  const address = primary.address("postgres", [], "?retry_timeout=1");
  const server = storeAt(address.replace("postgres@", "server@"));
  await using store = await server.open("writable", () => undefined);
  expect(await create(store, 1n)).toEqual(["created"]);
  expect(await create(store, 1n)).toEqual(["unchanged"]);
  await standby.stop("SIGKILL");
  let isCancelling = true;
  const cancelling = (async () => {
    const waiting = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    while (isCancelling) await primary.query("postgres", waiting);
  })();
  const outcomes = [await create(store, 1n), await create(store, 2n)].flat();
  isCancelling = false;
  await cancelling;
  expect(outcomes).toEqual(["unavailable", "unavailable"]);
  await primary.alterSystem("RESET synchronous_standby_names");
  for (const id of [1n, 2n]) expect(await create(store, id)).toEqual(["unchanged"]);
});
