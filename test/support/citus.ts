// A Citus cluster for tests: a coordinator and two workers, if citus.so is installed for a
// PostgreSQL. docs/scaling.md says how to install it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { ClusterTemplate, PostgresDatabases, type PostgresPrograms, PostgresServer } from "./postgres.ts";
import { describeUnless } from "./programs.ts";

const programs = findPrograms();

/** Why no test can use Citus here; undefined if it can. */
export const citusMissing =
  programs === undefined
    ? "install Citus from source, see docs/scaling.md: no PostgreSQL here has citus.so"
    : undefined;

/** A suite that needs Citus; where it is not installed, it is skipped and its name says why. */
export function describeCitus(name: string, suite: () => void): void {
  describeUnless(citusMissing, name, suite);
}

const settings = {
  shared_preload_libraries: "citus",
  max_connections: "200",
  // A shard moves by logical replication.
  wal_level: "logical",
  max_replication_slots: "20",
  max_wal_senders: "20",
  // A transaction over several shards is committed in two phases.
  max_prepared_transactions: "200",
  // Citus has a background process for each database, and tests have many.
  max_worker_processes: "100",
  "citus.local_hostname": "127.0.0.1",
  "citus.node_conninfo": "sslmode=disable",
  "citus.enable_statistics_collection": "off",
};

/**
 * The database of which all others are copies: creating the extension and adding the nodes takes a
 * second, and fails if two databases do it at once, as Citus then changes the same roles.
 */
const template = "citus_template";

/** A coordinator and its workers, on which a test may create databases. */
export class CitusDatabases implements AsyncDisposable {
  readonly coordinator: PostgresDatabases;
  readonly workers: readonly PostgresDatabases[];

  constructor(coordinator: PostgresDatabases, workers: readonly PostgresDatabases[]) {
    this.coordinator = coordinator;
    this.workers = workers;
  }

  get nodes(): readonly PostgresDatabases[] {
    return [this.coordinator, ...this.workers];
  }

  /** An empty database on all nodes; `address` is that of the coordinator. */
  async newDatabase(): Promise<{ name: string; address: string }> {
    const name = `plantstore_test_${crypto.randomUUID().replaceAll("-", "")}`;
    const create = `CREATE DATABASE ${name} TEMPLATE ${template}`;
    await Promise.all(this.nodes.map((node) => node.query("postgres", create)));
    return { name, address: this.coordinator.address(name) };
  }

  /** Distributes the plants of a store, as docs/scaling.md says. */
  async distribute(database: string): Promise<void> {
    await this.coordinator.query(
      database,
      `DO $$ DECLARE one text; BEGIN
         FOR one IN SELECT tablename FROM pg_indexes WHERE indexname = 'x_' || tablename || '_key' LOOP
           EXECUTE format('DROP INDEX %I', 'x_' || one || '_key');
           EXECUTE format('CREATE INDEX %I ON %I (create_key) WHERE length(create_key) = 22', 'x_' || one || '_key', one);
         END LOOP;
       END $$`,
    );
    await this.coordinator.query(
      database,
      "SELECT create_distributed_table(name, 'id', shard_count => 4) FROM collections",
    );
  }

  /** Leaves the nodes running: other tests use them. */
  async [Symbol.asyncDispose](): Promise<void> {}
}

/** The variable with the addresses of the shared cluster, separated by spaces. */
export const citusVariable = "PLANTSTORE_TEST_CITUS";

/** The cluster that all tests of a run share; or a new one, where a test runs by itself. */
export async function sharedCitus(): Promise<CitusDatabases> {
  const [coordinator, ...workers] = (process.env[citusVariable]?.split(" ") ?? []).map(
    (url) => new PostgresDatabases(url),
  );
  return coordinator === undefined ? CitusCluster.start() : new CitusDatabases(coordinator, workers);
}

/** A new coordinator and two workers, each of which can be stopped, killed and frozen. */
export class CitusCluster extends CitusDatabases {
  declare readonly coordinator: PostgresServer;
  declare readonly workers: readonly [PostgresServer, PostgresServer];

  /** Starts the nodes, with `extra` settings of PostgreSQL. Throws if Citus is not installed. */
  static async start(extra: Record<string, string> = {}): Promise<CitusCluster> {
    if (programs === undefined) throw new Error(citusMissing);
    using empty = new ClusterTemplate(programs);
    const start = () => PostgresServer.start({ ...settings, ...extra }, empty);
    const [coordinator, ...workers] = await Promise.all([start(), start(), start()]);
    const cluster = new CitusCluster(coordinator, workers);
    await cluster.#createTemplate();
    return cluster;
  }

  async #createTemplate(): Promise<void> {
    const onEach = (database: string, sql: string) =>
      Promise.all(this.nodes.map((node) => node.query(database, sql)));
    await onEach("postgres", `CREATE DATABASE ${template}`);
    await onEach(template, "CREATE EXTENSION citus");
    const calls = [
      `citus_set_coordinator_host('127.0.0.1', ${this.coordinator.port})`,
      ...this.workers.map(({ port }) => `citus_add_node('127.0.0.1', ${port})`),
    ];
    // One after the other, as SELECT evaluates its list.
    await this.coordinator.query(template, `SELECT ${calls.join(", ")}`);
    // Citus' background process and its connections to the other nodes would prevent copies.
    await onEach("postgres", `ALTER DATABASE ${template} ALLOW_CONNECTIONS false`);
    const end = `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '${template}'`;
    await onEach("postgres", end);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.coordinator, ...this.workers].map((node) => node[Symbol.asyncDispose]()));
  }
}

/** One PostgreSQL with the programs that have Citus, without it. */
export async function startPlainPostgres(extra: Record<string, string>): Promise<PostgresServer> {
  if (programs === undefined) throw new Error(citusMissing);
  using template = new ClusterTemplate(programs);
  return await PostgresServer.start(extra, template);
}

/** The programs of Debian's newest PostgreSQL with citus.so. */
function findPrograms(): PostgresPrograms | undefined {
  const folder = [18, 17, 16, 15, 14]
    .map((version) => `/usr/lib/postgresql/${version}`)
    .find((path) => existsSync(join(path, "lib/citus.so")));
  if (folder === undefined) return undefined;
  return { initdb: join(folder, "bin/initdb"), postgres: join(folder, "bin/postgres") };
}
