// The PostgreSQL that all contenders share, each with a database of its own.

import { readFileSync } from "node:fs";
import { PostgresServer } from "../test/support/postgres.ts";

const settings = {
  fsync: "on",
  synchronous_commit: "on",
  full_page_writes: "on",
  shared_buffers: "256MB",
  max_connections: "200",
  // A checkpoint would fall into the run of one contender and spare the others.
  max_wal_size: "8GB",
  checkpoint_timeout: "1h",
};

/** A server that runs until the stack is unwound. */
export class BenchPostgres {
  readonly #server: PostgresServer;
  /** The process that all others of the server descend from. */
  readonly pid: number;
  /** The folder that the data is in. */
  readonly folder: string;

  private constructor(server: PostgresServer, folder: string) {
    this.#server = server;
    this.folder = folder;
    this.pid = Number(readFileSync(`${folder}/postmaster.pid`, "utf8").split("\n")[0]);
  }

  static async start(stack: AsyncDisposableStack): Promise<BenchPostgres> {
    const server = stack.use(await PostgresServer.start(settings));
    const [row] = await server.query("postgres", "SHOW data_directory");
    return new BenchPostgres(server, String(row?.data_directory));
  }

  get port(): number {
    return this.#server.port;
  }

  /** Makes an empty database, and gives its address. */
  async createDatabase(name: string): Promise<string> {
    await this.#server.query("postgres", `CREATE DATABASE ${name}`);
    return this.#server.address(name);
  }

  async dropDatabase(name: string): Promise<void> {
    await this.#server.query("postgres", `DROP DATABASE ${name} WITH (FORCE)`);
  }

  /** Runs SQL that gives one row with one figure or text. */
  async ask(sql: string, database = "postgres"): Promise<string> {
    const [row] = await this.#server.query(database, sql);
    return String(Object.values(row ?? {})[0]);
  }

  /** Makes the table that the service as people usually write it has. */
  async createPlantsTable(database: string): Promise<void> {
    const sql = "CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)";
    await this.#server.query(database, sql);
  }

  /** Lets each statement that inserts plants wait. */
  async slowCommits(database: string, ms: number): Promise<void> {
    const statements = [
      `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(${ms / 1_000}); RETURN NULL; END'`,
      "CREATE TRIGGER slow_commit AFTER INSERT ON plants FOR EACH STATEMENT EXECUTE FUNCTION wait()",
    ];
    for (const statement of statements) await this.#server.query(database, statement);
  }

  async rowsIn(database: string): Promise<number> {
    return Number(await this.ask("SELECT count(*) FROM plants", database));
  }

  /** How many transactions have written so far. Each takes an id of its own; one that only reads takes none. */
  async writingTransactions(): Promise<number> {
    return Number(await this.ask("SELECT pg_snapshot_xmax(pg_current_snapshot())"));
  }

  /** The settings in force, as the server tells them. */
  async settings(): Promise<Record<string, string>> {
    const names = Object.keys(settings);
    const values = await Promise.all(names.map((name) => this.ask(`SHOW ${name}`)));
    return Object.fromEntries(names.map((name, index) => [name, values[index] ?? ""]));
  }
}
