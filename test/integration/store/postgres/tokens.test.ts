// Tokens on PostgreSQL: commits without a response, and a database that is down.

import { expect, test } from "bun:test";
import { compiler } from "../../../../src/openapi/compiler.ts";
import { storeAt } from "../../../../src/store/open-store.ts";
import { ConsoleClient } from "../../../support/console.ts";
import { eventually } from "../../../support/eventually.ts";
import { freshId, plantJson, post } from "../../../support/http.ts";
import { PostgresServer } from "../../../support/postgres.ts";
import { RunningServer } from "../../../support/server.ts";

test("the retry of a rotation whose commit had no response finds it done", async () => {
  // Its own, as it waits for a standby that never comes.
  await using own = await PostgresServer.start();
  const { name, address } = await own.newDatabase();
  await using store = await storeAt(`${address}?statement_timeout=1&retry_timeout=60`).open(
    "create",
    () => undefined,
    { compiler },
  );
  await store.tokens.add({ hash: "a", name: "ci", createdAt: 1_000, expiresAt: 1_000_000 });

  const waitingFor = (condition: string) => {
    const sql = `SELECT FROM pg_stat_activity
                 WHERE datname = '${name}' AND application_name = 'plantstore' AND ${condition}`;
    return eventually(
      condition,
      () => own.query(name, sql),
      (rows) => rows.length > 0,
    );
  };
  // Every commit now waits for a standby that never comes: the client gives up, and the commit goes
  // through later.
  await own.awaitMissingStandby();
  const rotating = store.tokens.rotate({
    hash: "b",
    name: "ci",
    rotatedAt: 2_000,
    expiresAt: undefined,
    overlapEndsAt: 500_000,
  });
  await waitingFor("wait_event = 'SyncRep'");
  // The second try waits until the first has committed.
  await waitingFor("wait_event_type = 'Lock'");
  await own.alterSystem("RESET synchronous_standby_names");
  expect(await rotating).toEqual({
    token: { hash: "b", name: "ci", createdAt: 2_000, expiresAt: 1_001_000 },
    predecessorEndsAt: 500_000,
  });
  const tokens = await store.tokens.list();
  expect(tokens.map(({ hash, overlapEndsAt }) => [hash, overlapEndsAt])).toEqual([
    ["a", 500_000],
    ["b", null],
  ]);
});

test("while its database is down, a server's console says so, and it stops with exit code 0", async () => {
  await using own = await PostgresServer.start();
  const server = await RunningServer.startInProcess({
    database: `${own.address("postgres")}?retry_timeout=1`,
  });
  const target = await server.target();
  expect((await post(target, plantJson(freshId(), "Monstera"))).status).toBe(200);
  const client = await ConsoleClient.of(server);
  expect((await client.read("tokens")).status).toBe(200);
  await own.stop("SIGQUIT");
  for (const call of ["tokens", "plant?id=1"]) {
    const { status, json } = await client.read(call);
    expect({ call, status, json }).toMatchObject({
      status: 503,
      json: { message: expect.stringContaining("database") },
    });
  }
  expect((await server.stop()).exitCode).toBe(0);
});
