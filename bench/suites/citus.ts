// The suite "citus": creates on a coordinator and two workers, through the coordinator and straight
// to the workers, and on one PostgreSQL.

import { wrkLoads } from "../loads/wrk.ts";
import {
  countNodes,
  type NodesSubject,
  nodeMetrics,
  startCitus,
  startOnCitus,
  startOnPlainPostgres,
} from "../subjects/citus.ts";
import { type Load, metrics, type Scenario, type Setup, type Suite } from "../suite.ts";

export const citusSuite: Suite = {
  name: "citus",
  title: "Creates on Citus",
  summary:
    "Creates on a Citus cluster of a coordinator and two workers, all on this machine: through the coordinator, straight to the workers, and on one PostgreSQL of the same version.",
  programs: { wrk: "wrk" },
  defaults: { rounds: 3, seconds: 5 },
  setUp: creates,
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
    metrics: [metrics.creates, metrics.p50, metrics.p99, ...Object.values(nodeMetrics)],
    claims: [
      {
        subject,
        metric: metrics.creates,
        over: routed.name,
        thresholds: { [most]: { atLeast: 2 } },
      },
      {
        subject,
        metric: metrics.creates,
        over: plain.name,
        thresholds: { [most]: { atLeast: 0.95 } },
      },
      {
        subject,
        metric: nodeMetrics.all,
        over: plain.name,
        thresholds: { [most]: { atMost: 1.8 } },
      },
      { subject, metric: nodeMetrics.share, thresholds: { [most]: { atMost: 0.05 } } },
    ],
  };
}
