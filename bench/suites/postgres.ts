// The suite "postgres": creates on PostgreSQL beside Express with node-postgres and beside pgbench, and several servers
// on one database behind nginx.

import { startBaselines } from "../baselines.ts";
import { readGroups } from "../cpu-usage.ts";
import { wrkLoads } from "../loads/wrk.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { startProxy } from "../subjects/nginx.ts";
import { createToken, startPlantstore } from "../subjects/plantstore.ts";
import { BenchPostgres } from "../subjects/postgres.ts";
import { metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const postgresSuite: Suite = {
  name: "postgres",
  title: "Creates on PostgreSQL",
  summary:
    "Creates on one PostgreSQL, a database for each subject, beside Express with node-postgres and pgbench with a prepared single-row INSERT; then one, two and three servers behind nginx.",
  defaults: { rounds: 3, seconds: 3 },
  scenarios: [singleServers, severalServers],
};

const shown = [metrics.creates, metrics.p50, metrics.p99, metrics.cpu, "creates/transaction"];

async function singleServers(setup: Setup): Promise<Scenario<HttpSubject>> {
  const postgres = await BenchPostgres.start(setup);
  const { durability } = postgres;
  const servers: HttpSubject[] = [];
  for (const [index, version] of setup.versions.entries()) {
    const database = await postgres.createDatabase(`plantstore_${index}`);
    const store = postgres.store(`plantstore_${index}`, `plantstore${version.suffix}`);
    const subject = await startPlantstore(setup, version, { database, store, durability });
    servers.push(withPostgres(subject, subject.server.pid, postgres));
  }
  const pgbench = await postgres.pgbench(setup);
  const baselines = await startBaselines(setup, "postgres", async (name) => {
    const database = name.replaceAll(/\W+/g, "_");
    return {
      address: await postgres.createDatabase(database),
      store: postgres.store(database, name),
      durability,
    };
  });
  const [subject, metric] = ["plantstore", metrics.creates];
  const ofPgbench = { "64 connections": { atLeast: 2 }, "256 connections": { atLeast: 3 } };
  return {
    name: "Creates on PostgreSQL",
    subjects: [
      ...servers,
      ...baselines.map((baseline) => withPostgres(baseline, baseline.pid, postgres)),
      ...(pgbench === undefined ? [] : [pgbench]),
    ],
    loads: wrkLoads(64, 256).map((load) => postgres.countTransactions(load)),
    metrics: shown,
    claims: [
      { subject, metric },
      ...baselines.map(({ name, thresholds }) => ({
        ...{ subject, metric, over: { subject: name }, thresholds },
        loads: Object.keys(thresholds),
      })),
      { subject, metric, over: { subject: "pgbench" }, thresholds: ofPgbench },
    ],
  };
}

async function severalServers(setup: Setup): Promise<Scenario<HttpSubject> | undefined> {
  const postgres = await BenchPostgres.start(setup);
  const database = await postgres.createDatabase("several");
  const [version] = setup.versions;
  const token = await createToken(version, database);
  const [store, { durability }] = [postgres.store("several", "several servers"), postgres];
  const options = { name: "1 by itself", database, token, store, durability };
  const servers = [
    await startPlantstore(setup, version, options),
    await startPlantstore(setup, version, options),
    await startPlantstore(setup, version, options),
  ];
  const pids = servers.map(({ server }) => server.pid);
  const proxies: HttpSubject[] = [];
  for (const count of [1, 2, 3]) {
    const proxy = await startProxy(setup, `${count} behind nginx`, servers.slice(0, count));
    if (proxy === undefined) return undefined;
    const groups = { nginx: [proxy.pid], "HTTP server": pids, postgres: [postgres.pid] };
    proxies.push({ ...proxy, store, readCpu: () => readGroups(groups) });
  }
  const [first, ...rest] = servers;
  if (first === undefined) return undefined;
  const direct = withPostgres(first, first.server.pid, postgres);
  // nginx is stopped before the servers behind it. Servers that are not subjects are stopped with the last subject.
  const stopAll = async () => {
    for (const server of [first, ...rest]) await server.stop?.();
  };
  return {
    name: "Several servers on one PostgreSQL",
    subjects: [...proxies, { ...direct, stop: stopAll }],
    loads: wrkLoads(256).map((load) => postgres.countTransactions(load)),
    metrics: shown,
    claims: [{ subject: "3 behind nginx", metric: metrics.creates, over: { subject: "1 behind nginx" } }],
  };
}

/** A subject whose processor time is reported for two groups: the HTTP server and PostgreSQL. */
function withPostgres(subject: HttpSubject, pid: number, postgres: BenchPostgres): HttpSubject {
  return { ...subject, readCpu: () => readGroups({ "HTTP server": [pid], postgres: [postgres.pid] }) };
}
