// The suite "citus": creates on a coordinator and two workers, through the coordinator and straight to the workers, beside
// one PostgreSQL; and a worker that is killed.

import type { CitusCluster } from "../../test/support/citus.ts";
import { plantJson, post } from "../../test/support/http.ts";
import { wrkLoads } from "../loads/wrk.ts";
import {
  countNodes,
  type NodesSubject,
  nodeMetrics,
  startCitus,
  startOnCitus,
  startOnPlainPostgres,
} from "../subjects/citus.ts";
import { toPlant } from "../subjects/http.ts";
import { type Load, metrics, type Run, type Scenario, type Setup, type Suite, type Trial } from "../suite.ts";

export const citusSuite: Suite = {
  name: "citus",
  title: "Creates on Citus",
  summary:
    "Creates on a Citus cluster of a coordinator and two workers, all on this machine: through the coordinator, straight to the workers, and on one PostgreSQL of the same version; then a worker killed under load and started again.",
  defaults: { rounds: 3, seconds: 5 },
  scenarios: [creates, lostWorker],
};

const direct = { name: "straight to the workers", query: "?citus=direct" };
const routed = { name: "through the coordinator", query: "?citus=coordinator" };

/** The load that claims are made of. */
const most = "256 connections";

async function creates(setup: Setup): Promise<Scenario<NodesSubject> | undefined> {
  const cluster = await startCitus(setup);
  if (cluster === undefined) return undefined;
  const [version] = setup.versions;
  const plain = await startOnPlainPostgres(setup, version);
  const subject = direct.name;
  return {
    name: "Creates on Citus",
    subjects: [
      await startOnCitus(setup, version, cluster, direct),
      await startOnCitus(setup, version, cluster, routed),
      plain,
    ],
    loads: wrkLoads(64, 256).map((load) => countNodes(load as Load<NodesSubject>)),
    metrics: [
      ...[metrics.creates, metrics.p50, metrics.p99, nodeMetrics.all, nodeMetrics.coordinator],
      ...[nodeMetrics.workers, nodeMetrics.share],
    ],
    claims: [
      {
        ...{ subject, metric: metrics.creates, over: { subject: routed.name }, loads: [most] },
        thresholds: { [most]: { atLeast: 2 } },
      },
      { subject, metric: metrics.creates, over: { subject: plain.name }, loads: [most] },
      {
        ...{ subject, metric: nodeMetrics.all, over: { subject: plain.name }, loads: [most] },
        thresholds: { [most]: { atMost: 1.8 } },
      },
      { subject, metric: nodeMetrics.share, loads: [most], thresholds: { [most]: { atMost: 0.05 } } },
    ],
  };
}

const lossMetrics = {
  before: "other worker's creates/s before",
  down: "other worker's creates/s while down",
  kept: "kept share",
  refused: "refused/s while down",
  back: "back after s",
} as const;

/** As many as a small service has; each waits for one create at a time. */
const clients = 32;

/** A server gives a plant up after ten seconds, so a worker must be down for longer than that. */
const downSecondsMin = 12;

/** A worker that takes longer is not back. */
const backSecondsMax = 60;

type LossSubject = NodesSubject & { readonly database: string };

async function lostWorker(setup: Setup): Promise<Scenario<LossSubject> | undefined> {
  const cluster = await startCitus(setup);
  if (cluster === undefined) return undefined;
  const [version] = setup.versions;
  const load = "a worker is killed";
  // Processor time cannot be read of a worker's process that has ended.
  const start = async (way: typeof direct): Promise<LossSubject> => {
    const { readCpu: _, ...subject } = await startOnCitus(setup, version, cluster, way);
    return subject;
  };
  const subject = direct.name;
  return {
    name: "A worker of Citus is lost",
    subjects: [await start(direct), await start(routed)],
    loads: [{ name: load, run: (subject, trial) => loseWorker(cluster, subject, trial) }],
    metrics: Object.values(lossMetrics),
    claims: [
      { subject, metric: lossMetrics.kept, thresholds: { [load]: { atLeast: 0.5 } } },
      { subject, metric: lossMetrics.back, thresholds: { [load]: { atMost: 15 } } },
    ],
  };
}

/** When a create was answered 200, or refused, by its id. */
interface Answer {
  readonly id: number;
  readonly at: number;
  readonly isCreated: boolean;
}

/** Creates of both workers' plants, before one is killed, while it is down, and after it was started. */
async function loseWorker(cluster: CitusCluster, subject: LossSubject, trial: Trial): Promise<Run> {
  const [lost] = cluster.workers;
  const answers: Answer[] = [];
  let nextId = trial.firstId;
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const id = nextId++;
      const { name, tag } = toPlant(id);
      const { status, text } = await post(subject, plantJson(BigInt(id), name, tag));
      if (status !== 200 && status !== 503) throw new Error(`a create was answered ${status} ${text}`);
      answers.push({ id, at: performance.now(), isCreated: status === 200 });
    }
  };
  const running = Promise.all(Array.from({ length: clients }, client));
  // A client that fails must not wait for the worker.
  const pause = (seconds: number) => Promise.race([Bun.sleep(seconds * 1_000), running]);
  const startedAt = performance.now();
  await pause(trial.seconds);
  const killedAt = performance.now();
  await lost.stop("SIGKILL");
  await pause(Math.max(downSecondsMin, 2 * trial.seconds));
  const restartedAt = performance.now();
  await lost.run();
  const plantsOf = async () =>
    idsOn(cluster, subject.database, lost.port, { from: trial.firstId, to: nextId - 1 });
  const backAt = async () => {
    const ids = await plantsOf();
    return answers.find(({ id, at, isCreated }) => isCreated && at > restartedAt && ids.has(id))?.at;
  };
  let back: number | undefined;
  for (const end = restartedAt + backSecondsMax * 1_000; back === undefined; ) {
    if (performance.now() > end) throw new Error(`the worker was not used again in ${backSecondsMax} s`);
    await pause(0.5);
    back = await backAt();
  }
  isOver = true;
  await running;
  const lostIds = await plantsOf();
  const rate = (from: number, to: number, isCounted: (answer: Answer) => boolean) =>
    answers.filter((answer) => answer.at >= from && answer.at < to && isCounted(answer)).length /
    ((to - from) / 1_000);
  const isOther = ({ id, isCreated }: Answer) => isCreated && !lostIds.has(id);
  const before = rate(startedAt, killedAt, isOther);
  const down = rate(killedAt, restartedAt, isOther);
  const figures = {
    [lossMetrics.before]: before,
    [lossMetrics.down]: down,
    [lossMetrics.kept]: down / before,
    [lossMetrics.refused]: rate(killedAt, restartedAt, ({ isCreated }) => !isCreated),
    [lossMetrics.back]: (back - restartedAt) / 1_000,
  };
  const acknowledged = answers.filter(({ isCreated }) => isCreated).length;
  return { figures, requests: answers.length, acknowledged };
}

/** Which ids of a range are on the node with a port. */
async function idsOn(
  { coordinator }: CitusCluster,
  database: string,
  port: number,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<ReadonlySet<number>> {
  const rows = await coordinator.query(
    database,
    `SELECT id::float8 AS id FROM generate_series(${from}::int8, ${to}::int8) AS id
     JOIN pg_dist_placement ON shardid = get_shard_id_for_distribution_column('plants', id)
     JOIN pg_dist_node USING (groupid) WHERE nodeport = ${port}`,
  );
  return new Set(rows.map(({ id }) => Number(id)));
}
