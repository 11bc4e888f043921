// The PostgreSQL server that the subjects of a scenario share.

import { readFileSync } from "node:fs";
import type { PostgresDatabases } from "../../test/support/postgres.ts";
import type { BaselineDatabase } from "../baselines.ts";
import { readGroups } from "../cpu-usage.ts";
import type { Load, Setup, Subject } from "../suite.ts";
import type { HttpSubject } from "./http.ts";

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

export async function countPostgresRows(postgres: PostgresDatabases, database: string): Promise<number> {
  const [row] = await postgres.query(database, "SELECT count(*) AS count FROM plants");
  return Number(row?.count);
}

/** The process from which all others of a server descend. */
export async function postmasterPid(server: PostgresDatabases): Promise<number> {
  const [row] = await server.query("postgres", "SHOW data_directory");
  return Number(readFileSync(`${row?.data_directory}/postmaster.pid`, "utf8").split("\n")[0]);
}

export type BenchPostgres = Awaited<ReturnType<typeof startBenchPostgres>>;

/** Starts a server that runs until the scenario ends. */
export async function startBenchPostgres({ stack, recordVersion }: Setup) {
  // Imported here, so that the other suites run without PostgreSQL's binaries.
  const { PostgresServer } = await import("../../test/support/postgres.ts");
  const server = stack.use(await PostgresServer.start(postgresSettings));
  const show = async (name: string) =>
    String(Object.values((await server.query("postgres", `SHOW ${name}`))[0] ?? {})[0]);
  recordVersion("PostgreSQL", await show("server_version"));
  const effective = await Promise.all(
    Object.keys(postgresSettings).map(async (name) => `${name} ${await show(name)}`),
  );
  const durability = effective.join(", ");
  const pid = await postmasterPid(server);

  /** Creates an empty database. */
  async function createDatabase(name: string): Promise<Required<BaselineDatabase>> {
    await server.query("postgres", `CREATE DATABASE ${name}`);
    return { address: server.address(name), countRows: () => countPostgresRows(server, name), durability };
  }

  /** Creates a database with a table of plants and no server in front of it. */
  async function plainTable(database: string): Promise<HttpSubject> {
    const { address: url, ...rest } = await createDatabase(database);
    await server.query(database, "CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)");
    return { name: database, url, token: "", ...rest, readCpu: () => readGroups({ postgres: [pid] }) };
  }

  /** The transactions so far: each that writes takes an id of its own. */
  async function transactions(): Promise<number> {
    const sql = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS xid";
    return Number((await server.query("postgres", sql))[0]?.xid);
  }

  /** A load that also computes the creates of a transaction. */
  function countTransactions<S extends Subject>(load: Load<S>): Load<S> {
    return {
      ...load,
      run: async (subject, trial) => {
        const before = await transactions();
        const run = await load.run(subject, trial);
        const perTransaction = (run.requests ?? 0) / ((await transactions()) - before);
        return { ...run, figures: { ...run.figures, "creates/transaction": perTransaction } };
      },
    };
  }

  /** `pid` is the process from which all others of the server descend. */
  return { server, pid, createDatabase, plainTable, countTransactions };
}
