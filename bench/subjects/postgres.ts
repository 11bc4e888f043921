// The PostgreSQL server that the subjects of a scenario share, and the creates of pgbench on it.

import { readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { PostgresServer } from "../../test/support/postgres.ts";
import { readGroups } from "../cpu-usage.ts";
import { CountedStore } from "../durability-audit.ts";
import { findProgram, printedVersion, runProgram } from "../processes.ts";
import type { Load, Run, Setup, Store, Subject, Trial } from "../suite.ts";
import { quantile } from "../summary.ts";
import { type HttpSubject, toPlant } from "./http.ts";

/** Settings of every PostgreSQL that is measured. */
export const postgresSettings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "256MB",
  max_connections: "200",
  // A checkpoint would fall into the run of one subject and spare the others.
  max_wal_size: "8GB",
  checkpoint_timeout: "1h",
};

/** A server that runs until the scenario ends. */
export class BenchPostgres {
  readonly server: PostgresServer;
  /** The process from which all others of the server descend. */
  readonly pid: number;
  /** The effective durability settings. */
  readonly durability: string;

  private constructor(server: PostgresServer, pid: number, durability: string) {
    this.server = server;
    this.pid = pid;
    this.durability = durability;
  }

  static async start({ stack, recordVersion }: Setup): Promise<BenchPostgres> {
    // Where PostgreSQL's binaries are not installed, all other suites run.
    const { PostgresServer } = await import("../../test/support/postgres.ts");
    const server = stack.use(await PostgresServer.start(postgresSettings));
    const show = async (name: string) =>
      String(Object.values((await server.query("postgres", `SHOW ${name}`))[0] ?? {})[0]);
    recordVersion("PostgreSQL", await show("server_version"));
    const effective = await Promise.all(
      Object.keys(postgresSettings).map(async (name) => `${name} ${await show(name)}`),
    );
    const pidFile = `${await show("data_directory")}/postmaster.pid`;
    const pid = Number(readFileSync(pidFile, "utf8").split("\n")[0]);
    return new BenchPostgres(server, pid, effective.join(", "));
  }

  /** Creates an empty database, or a copy of one, and returns its address. */
  async createDatabase(name: string, template = "template1"): Promise<string> {
    await this.server.query("postgres", `CREATE DATABASE ${name} TEMPLATE ${template}`);
    return this.server.address(name);
  }

  /** The store of a database, to be audited as `name`. */
  store(database: string, name = database): Store {
    return new CountedStore(name, () => this.countRows(database));
  }

  async countRows(database: string): Promise<number> {
    const [row] = await this.server.query(database, "SELECT count(*) AS count FROM plants");
    return Number(row?.count);
  }

  /** A load that also figures out how many creates a transaction has. Each that writes takes an id of its own. */
  countTransactions<S extends Subject>(load: Load<S>): Load<S> {
    const written = async () => {
      const sql = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid";
      return Number((await this.server.query("postgres", sql))[0]?.xid);
    };
    return {
      ...load,
      run: async (subject, trial) => {
        const before = await written();
        const run = await load.run(subject, trial);
        const transactions = (await written()) - before;
        const perTransaction = (run.requests ?? 0) / transactions;
        return { ...run, figures: { ...run.figures, "creates/transaction": perTransaction } };
      },
    };
  }

  /** PostgreSQL's own load generator, with the table that the other subjects have. */
  async pgbench({ folder, skip, recordVersion }: Setup): Promise<HttpSubject | undefined> {
    if (findProgram("pgbench") === null) {
      skip("pgbench", "pgbench is not installed: apt-get install postgresql-contrib");
      return undefined;
    }
    recordVersion("pgbench", printedVersion(["pgbench", "--version"]));
    const database = "pgbench";
    await this.createDatabase(database);
    const table = "CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)";
    await this.server.query(database, table);
    return {
      name: "pgbench",
      url: this.server.address(database),
      token: "",
      durability: this.durability,
      store: this.store(database),
      readCpu: () => readGroups({ postgres: [this.pid] }),
      drive: (trial) => runPgbench(this.server.port, database, folder, trial),
    };
  }
}

const script = new URL("../loads/pgbench-create.sql", import.meta.url).pathname;

/** The number at which pgbench is fastest, independent of the connections of the load. */
const pgbenchClients = 64;

/** The latency of one in this many transactions is logged. */
const latencySample = 100;

async function runPgbench(port: number, database: string, folder: string, trial: Trial): Promise<Run> {
  const { seconds, firstId } = trial;
  const log = `${folder}/pgbench-${firstId}`;
  const variables = { count: 0, clients: pgbenchClients, first_id: firstId, ...toPlant(firstId) };
  const { stdout, cpu } = await runProgram([
    ...["pgbench", "--host=127.0.0.1", `--port=${port}`, "--username=postgres", "--protocol=prepared"],
    ...[`--client=${pgbenchClients}`, "--jobs=1", `--time=${seconds}`, "--no-vacuum"],
    ...["--log", `--log-prefix=${log}`, `--sampling-rate=${1 / latencySample}`],
    ...Object.entries(variables).map(([name, value]) => `--define=${name}=${value}`),
    ...[`--file=${script}`, database],
  ]);
  const failed = numberIn(stdout, /number of failed transactions: (\d+)/);
  const requests = numberIn(stdout, /number of transactions actually processed: (\d+)/);
  if (failed > 0 || requests === 0)
    throw new Error(`a run of pgbench is void: ${requests} creates, ${failed} failures`);
  const latencies = latenciesIn(log);
  const figures = {
    "creates/s": numberIn(stdout, /tps = ([\d.]+)/),
    "p50 ms": quantile(latencies, 0.5),
    "p99 ms": quantile(latencies, 0.99),
  };
  return { figures, requests, acknowledged: requests, loadCpu: cpu };
}

function numberIn(output: string, pattern: RegExp): number {
  const text = pattern.exec(output)?.[1];
  if (text === undefined) throw new Error(`pgbench printed no ${pattern.source}: ${output}`);
  return Number(text);
}

/** The third field of a line of its log is the latency in microseconds. */
function latenciesIn(prefix: string): number[] {
  const [path = ""] = [...new Bun.Glob(`${basename(prefix)}.*`).scanSync(dirname(prefix))];
  const lines = readFileSync(join(dirname(prefix), path), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => Number(line.split(" ")[2]) / 1e3);
}
