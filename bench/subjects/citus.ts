// A Citus cluster, and one PostgreSQL with the same programs, for the subjects of a scenario.

import type { CitusDatabases } from "../../test/support/citus.ts";
import type { PostgresDatabases } from "../../test/support/postgres.ts";
import { type CpuTime, cpuBetween, readGroups } from "../cpu-usage.ts";
import { runProgram } from "../processes.ts";
import type { Load, Plantstore, Setup } from "../suite.ts";
import type { HttpSubject } from "./http.ts";
import { createToken, startPlantstore } from "./plantstore.ts";
import { countPostgresRows, postgresSettings, postmasterPid } from "./postgres.ts";

/** The coordinator's connections to each worker, one for each shard of a batch. */
const citusSettings = { ...postgresSettings, max_connections: "300" };

/** A server whose database's processes are known. */
export interface NodesSubject extends HttpSubject {
  /** The processes from which all others of the database descend, by the kind of their node. */
  readonly nodes: Readonly<Record<string, readonly number[]>>;
}

/** Metrics of creates on nodes. */
export const nodeMetrics = {
  /** All processes of PostgreSQL on all nodes. */
  all: "postgres µs/create",
  coordinator: "coordinator µs/create",
  workers: "workers µs/create",
  /** The coordinator's processor time in relation to that of the workers. */
  share: "coordinator/workers",
} as const;

/** Starts a cluster for the scenario; undefined, with a reason, without Citus. */
export async function startCitus({ stack, skip, recordVersion }: Setup) {
  const { CitusCluster, citusMissing } = await import("../../test/support/citus.ts");
  if (citusMissing !== undefined) {
    skip("Citus", citusMissing);
    return undefined;
  }
  const cluster = stack.use(await CitusCluster.start(citusSettings));
  const { name } = await cluster.newDatabase();
  const [version] = await cluster.coordinator.query(
    name,
    "SELECT extversion AS citus, current_setting('server_version') AS postgres FROM pg_extension WHERE extname = 'citus'",
  );
  recordVersion("Citus", String(version?.citus));
  recordVersion("PostgreSQL", String(version?.postgres));
  return cluster;
}

/** A server on a new distributed database of a cluster, with `query` in its address. */
export async function startOnCitus(
  setup: Setup,
  version: Plantstore,
  cluster: CitusDatabases,
  subject: { readonly name: string; readonly query: string },
): Promise<NodesSubject> {
  const { name: database, address } = await cluster.newDatabase();
  await runProgram([version.command, "migrate", "--database", address]);
  await cluster.distribute(database);
  const nodes = {
    coordinator: [await postmasterPid(cluster.coordinator)],
    workers: await Promise.all(cluster.workers.map(postmasterPid)),
  };
  return startOn(setup, version, cluster.coordinator, {
    name: subject.name,
    database,
    nodes,
    address: `${address}${subject.query}`,
  });
}

/** A server on one PostgreSQL with the programs of the cluster, without Citus. */
export async function startOnPlainPostgres(setup: Setup, version: Plantstore): Promise<NodesSubject> {
  const { startPlainPostgres } = await import("../../test/support/citus.ts");
  const postgres = setup.stack.use(await startPlainPostgres(postgresSettings));
  const { name: database, address } = await postgres.newDatabase();
  const nodes = { PostgreSQL: [await postmasterPid(postgres)] };
  return startOn(setup, version, postgres, { name: "one PostgreSQL", address, database, nodes });
}

async function startOn(
  setup: Setup,
  version: Plantstore,
  postgres: PostgresDatabases,
  subject: Pick<NodesSubject, "name" | "nodes"> & { readonly address: string; readonly database: string },
): Promise<NodesSubject> {
  const { name, nodes, address, database } = subject;
  const [settings] = await postgres.query(
    database,
    `SELECT string_agg(name || ' ' || setting, ', ' ORDER BY name) AS durability FROM pg_settings
     WHERE name IN ('fsync', 'synchronous_commit', 'full_page_writes')`,
  );
  const server = await startPlantstore(setup, version, {
    name,
    database: address,
    token: await createToken(version, address),
    countRows: () => countPostgresRows(postgres, database),
    durability: String(settings?.durability),
  });
  const readCpu = () => readGroups({ "HTTP server": [server.server.pid], ...nodes });
  return { ...server, nodes, readCpu };
}

/** A load that also figures out the processor time of each kind of node. */
export function countNodes(load: Load<NodesSubject>): Load<NodesSubject> {
  return {
    ...load,
    run: async (subject, trial) => {
      const before = readGroups(subject.nodes);
      const run = await load.run(subject, trial);
      const { total, byName } = cpuBetween(before, readGroups(subject.nodes));
      const creates = run.requests ?? 0;
      const [coordinator, workers] = [microseconds(byName.coordinator), microseconds(byName.workers)];
      const figures = {
        [nodeMetrics.all]: microseconds(total) / creates,
        [nodeMetrics.coordinator]: coordinator / creates,
        [nodeMetrics.workers]: workers / creates,
        [nodeMetrics.share]: coordinator / workers,
      };
      return { ...run, figures: { ...run.figures, ...figures } };
    },
  };
}

/** NaN for nodes that one PostgreSQL does not have. */
function microseconds({ userUs, systemUs }: CpuTime = { userUs: Number.NaN, systemUs: 0 }): number {
  return userUs + systemUs;
}
