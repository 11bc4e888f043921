// load_balance_hosts: how stores spread over hosts that all accept writes, and what the loss of one
// costs. The hosts are proxies in front of one PostgreSQL: to the client they are nodes of a
// distributed database.

import { afterAll, expect, test } from "bun:test";
import { toEntries } from "../../../../../src/core/store/plant-store.ts";
import { parsePostgresUrl } from "../../../../../src/core/store/postgres/connection-url.ts";
import { PostgresPlants } from "../../../../../src/core/store/postgres/plants.ts";
import { Primary } from "../../../../../src/core/store/postgres/primary.ts";
import { reservePort } from "../../../../support/ports.ts";
import { sharedPostgres } from "../../../../support/postgres.ts";
import { startHangingProxy } from "../../../../support/proxy.ts";
import { createStore } from "../../../../support/server.ts";
import { settled } from "../../../../support/settled.ts";

const server = await sharedPostgres();
const { name, address } = await server.newDatabase();
await createStore(address);
afterAll(() => server[Symbol.asyncDispose]());

function connect(ports: readonly number[], query: string): Primary {
  const hosts = ports.map((port) => `127.0.0.1:${port}`).join(",");
  return new Primary(parsePostgresUrl(`//postgres@${hosts}/${name}?sslmode=disable&${query}`));
}

/** The port of the host that a store uses now. */
const portOf = (primary: Primary) => primary.once(async ({ name }) => Number(name.split(":")[1]));

test("random spreads stores over all hosts", async () => {
  using one = await startHangingProxy(server.port);
  using other = await startHangingProxy(server.port);
  const ports = [one.port, other.port, reservePort()];
  const primaries = Array.from({ length: 40 }, () => connect(ports, "load_balance_hosts=random"));
  const used = await Promise.all(primaries.map(portOf));
  // All on one host: a chance of 2^-39.
  expect(new Set(used)).toEqual(new Set([one.port, other.port]));
  await Promise.all(primaries.map((primary) => primary.close()));
});

test("a host that hangs is passed over", async () => {
  using good = await startHangingProxy(server.port);
  using hanging = await startHangingProxy(server.port);
  hanging.hang();
  // The client waits longer for the host that hangs than a test may take.
  const query = "load_balance_hosts=random&connect_timeout=600";
  for (let attempt = 0; attempt < 4; attempt++) {
    const primary = connect([hanging.port, good.port], query);
    expect(await portOf(primary)).toBe(good.port);
    await primary.close();
  }
});

test("a lost host costs a reconnection to another one: every plant is created", async () => {
  const proxies = [await startHangingProxy(server.port), await startHangingProxy(server.port)];
  const primary = connect(
    proxies.map(({ port }) => port),
    "load_balance_hosts=random",
  );
  const unavailable: string[] = [];
  const plants = new PostgresPlants(primary, (reason) => unavailable.push(reason));
  let id = 0n;
  const createSome = async () => {
    const batches = Array.from({ length: 4 }, () => [{ id: id++, name: "Monstera" }]);
    return (await Promise.all(batches.map((batch) => plants.create(toEntries(batch))))).flat();
  };
  expect(await createSome()).toEqual(Array(4).fill("created"));
  const lost = await portOf(primary);
  const creating = createSome();
  proxies.find(({ port }) => port === lost)?.[Symbol.dispose]();
  // A commit whose response was lost is sent again, and found.
  for (const outcome of await creating) expect(["created", "unchanged"]).toContain(outcome);
  expect(await createSome()).toEqual(Array(4).fill("created"));
  expect(proxies.map(({ port }) => port).filter((port) => port !== lost)).toEqual([await portOf(primary)]);
  expect(unavailable).toEqual([]);
  await primary.close();
  for (const proxy of proxies) proxy[Symbol.dispose]();
});

test("once it is closed, a store connects to no host", async () => {
  const primary = connect([server.port], "application_name=closed");
  await primary.close();
  expect(await settled(primary.once(async () => undefined))).toThrow("the store was closed");
  const connected = "SELECT FROM pg_stat_activity WHERE application_name = 'closed'";
  expect(await server.query(name, connected)).toEqual([]);
});
