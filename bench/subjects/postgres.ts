// The PostgreSQL server that the subjects of a scenario share.

import { readFileSync } from "node:fs";
import type { PostgresDatabases, PostgresServer } from "../../test/support/postgres.ts";
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
    return new BenchPostgres(server, await postmasterPid(server), effective.join(", "));
  }

  /** Creates an empty database. */
  async createDatabase(name: string): Promise<Required<BaselineDatabase>> {
    await this.server.query("postgres", `CREATE DATABASE ${name}`);
    const countRows = () => countPostgresRows(this.server, name);
    return { address: this.server.address(name), countRows, durability: this.durability };
  }

  /** A database with a table of plants and no server in front of it. */
  async plainTable(database: string): Promise<HttpSubject> {
    const { address: url, ...rest } = await this.createDatabase(database);
    await this.server.query(
      database,
      "CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)",
    );
    const readCpu = () => readGroups({ postgres: [this.pid] });
    return { name: database, url, token: "", ...rest, readCpu };
  }

  /**
   * A load that also computes the creates of a transaction. Each that writes takes an id of its
   * own.
   */
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
}
