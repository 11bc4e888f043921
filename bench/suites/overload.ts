// The suite "overload": three times what a server takes, offered by a schedule that does not wait for it; where the
// processors are the limit, and where the store is.

import { ExaminedStore } from "../durability-audit.ts";
import { type ExaminedSubject, openLoop } from "../loads/open-loop.ts";
import { createToken, type Plantstore, startPlantstore } from "../subjects/plantstore.ts";
import { BenchPostgres } from "../subjects/postgres.ts";
import { metrics, type Scenario, type Setup, type Suite, type Threshold } from "../suite.ts";

export const overloadSuite: Suite = {
  name: "overload",
  title: "Overload",
  summary:
    "Three times the peak, offered over 8,000 connections by a schedule that does not wait for responses, on SQLite and on a PostgreSQL whose commits take 100 ms longer; each create's outcome is looked up in an export.",
  programs: {},
  defaults: { rounds: 3, seconds: 5 },
  scenarios: [limitedByProcessors, limitedByStore],
};

/** About the latency of a synchronous standby on another continent. */
const slowCommitMs = 100;

/** Batches that the slow store commits at a time. */
const slowPoolSize = 2;

/** As many as it commits in a fifth of a second; with one create a connection the default's 10,000 are never reached. */
const slowQueuePlantsMax = 4_000;

async function limitedByProcessors(setup: Setup): Promise<Scenario<ExaminedSubject>> {
  const subjects: ExaminedSubject[] = [];
  for (const [index, version] of setup.versions.entries()) {
    const database = `sqlite:${setup.folder}/plants-${index}.db`;
    const store = examinedStore(setup, version, database, "SQLite");
    const server = await startPlantstore(setup, version, { name: "SQLite", database, store });
    subjects.push({ ...server, store });
  }
  return scenario("SQLite", subjects, 256);
}

async function limitedByStore(setup: Setup): Promise<Scenario<ExaminedSubject>> {
  const postgres = await BenchPostgres.start(setup);
  const subjects: ExaminedSubject[] = [];
  for (const [index, version] of setup.versions.entries()) {
    const address = await postgres.createDatabase(`slow_${index}`);
    const token = await createToken(version, address);
    for (const statement of slowCommits) await postgres.server.query(`slow_${index}`, statement);
    const store = examinedStore(setup, version, address, "slow PostgreSQL");
    const subject = await startPlantstore(setup, version, {
      ...{ name: "slow PostgreSQL", token, store },
      database: `${address}?pool_size=${slowPoolSize}`,
      args: ["--queue-plants-max", String(slowQueuePlantsMax)],
      durability: `${postgres.durability}; a trigger adds ${slowCommitMs} ms to each commit, ${slowPoolSize} connections`,
    });
    subjects.push({ ...subject, store });
  }
  return scenario("slow PostgreSQL", subjects, slowQueuePlantsMax);
}

/** A trigger that lets each statement that inserts plants wait. */
const slowCommits = [
  `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(${slowCommitMs / 1_000}); RETURN NULL; END'`,
  "CREATE TRIGGER slow_commit AFTER INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION wait()",
];

function examinedStore(setup: Setup, version: Plantstore, database: string, name: string): ExaminedStore {
  const command = [version.command, "export", "--database", database];
  return new ExaminedStore(`${name}${version.suffix}`, setup.folder, command);
}

/** @param peakConnections enough for the highest rate in a closed loop. */
function scenario(
  subject: string,
  subjects: readonly ExaminedSubject[],
  peakConnections: number,
): Scenario<ExaminedSubject> {
  const [peak, overload] = ["the peak", "3 times the peak"];
  const loads = [overload];
  const atOverload = (threshold: Threshold) => ({ [overload]: threshold });
  return {
    name: `Overload, ${subject}`,
    subjects,
    loads: [
      openLoop({ name: peak, connections: peakConnections, warmsUp: true }),
      // Fewer connections than those from which on a server closes some.
      openLoop({ name: overload, connections: 8_000, times: { factor: 3, load: peak } }),
    ],
    metrics: [
      ...[metrics.creates, "offered/s", "sent/s", "refused/s", metrics.p50, metrics.p99],
      ...["p99 ms from schedule", "refused p99 ms", "send lag p99 ms", metrics.cpu, metrics.memory],
    ],
    claims: [
      {
        subject,
        metric: metrics.creates,
        over: { load: peak },
        loads,
        thresholds: atOverload({ atLeast: 0.9 }),
      },
      { subject, metric: "p99 ms from schedule", loads, thresholds: atOverload({ atMost: 1_000 }) },
      { subject, metric: metrics.memory, loads, thresholds: atOverload({ atMost: 200 }) },
    ],
  };
}
