// The suite "postgres": creates on PostgreSQL beside Express with node-postgres and beside pgbench.

import { startBaselines } from "../baselines.ts";
import { readGroups } from "../cpu-usage.ts";
import { runPgbench } from "../loads/pgbench.ts";
import { wrkLoads } from "../loads/wrk.ts";
import type { HttpSubject } from "../subjects/http.ts";
import { startPlantstore } from "../subjects/plantstore.ts";
import { type BenchPostgres, startBenchPostgres } from "../subjects/postgres.ts";
import { metrics, type Scenario, type Setup, type Suite, type Trial } from "../suite.ts";

export const postgresSuite: Suite = {
  name: "postgres",
  title: "Creates on PostgreSQL",
  summary:
    "Creates on one PostgreSQL, a database for each subject, beside Express with node-postgres, and beside pgbench with a prepared single-row INSERT over 64 connections.",
  programs: { wrk: "wrk", pgbench: "postgresql-contrib" },
  defaults: { rounds: 3, seconds: 3 },
  setUp: creates,
};

const shown = [metrics.creates, metrics.p50, metrics.p99, metrics.cpu, "creates/transaction"];

async function creates(setup: Setup): Promise<Scenario<HttpSubject>> {
  const postgres = await startBenchPostgres(setup);
  const servers: HttpSubject[] = [];
  for (const [index, version] of setup.versions.entries()) {
    const { address, ...rest } = await postgres.createDatabase(`plantstore_${index}`);
    const subject = await startPlantstore(setup, version, { database: address, ...rest });
    servers.push(withPostgres(subject, subject.server.pid, postgres));
  }
  const baselines = await startBaselines(setup, "postgres", (name) =>
    postgres.createDatabase(name.replaceAll(/\W+/g, "_")),
  );
  const pgbench = await postgres.plainTable("pgbench");
  const loads = wrkLoads(64, 256).map((load) => ({
    ...load,
    run: (subject: HttpSubject, trial: Trial) =>
      subject === pgbench ? runPgbench(postgres.server.port, "pgbench", trial) : load.run(subject, trial),
  }));
  const [subject, metric] = ["plantstore", metrics.creates];
  const ofPgbench = { "64 connections": { atLeast: 2 }, "256 connections": { atLeast: 3 } };
  return {
    name: "Creates on PostgreSQL",
    subjects: [
      ...servers,
      ...baselines.map((baseline) => withPostgres(baseline, baseline.pid, postgres)),
      pgbench,
    ],
    loads: loads.map((load) => postgres.countTransactions(load)),
    metrics: shown,
    claims: [
      { subject, metric },
      ...baselines.map(({ name, thresholds }) => ({ subject, metric, over: name, thresholds })),
      { subject, metric, over: pgbench.name, thresholds: ofPgbench },
    ],
  };
}

/** A subject whose processor time is reported for two groups: the HTTP server and PostgreSQL. */
function withPostgres(subject: HttpSubject, pid: number, postgres: BenchPostgres): HttpSubject {
  return { ...subject, readCpu: () => readGroups({ "HTTP server": [pid], postgres: [postgres.pid] }) };
}
