// Connections to PostgreSQL: TLS with libpq's sslmode, and PgBouncer.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { chmodSync, chownSync, cpSync, writeFileSync } from "node:fs";
import { Client } from "pg";
import { parsePostgresUrl } from "../../../src/core/store/postgres/connection-url.ts";
import { classifyError } from "../../../src/core/store/postgres/errors.ts";
import { HostPool } from "../../../src/core/store/postgres/host-pool.ts";
import { Primary } from "../../../src/core/store/postgres/primary.ts";
import { makeCertificate } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { acceptsConnections, reservePort } from "../../support/ports.ts";
import { type PostgresDatabases, PostgresServer, sharedPostgres } from "../../support/postgres.ts";
import { describeIfInstalled, programPath } from "../../support/programs.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const unprivilegedUser = 65_534;
const isRoot = process.getuid?.() === 0;

describeIfInstalled("openssl", "TLS", () => {
  const folder = new TemporaryFolder();
  let database: PostgresServer;
  beforeAll(async () => {
    makeCertificate(folder, "server", "/CN=plantstore-test", "DNS:localhost");
    chmodSync(folder.path, 0o755);
    chmodSync(folder.file("server.key"), 0o600);
    // A copy that the tests can read when the server owns the original.
    cpSync(folder.file("server.crt"), folder.file("ca.crt"));
    if (isRoot)
      for (const file of ["server.key", "server.crt"])
        chownSync(folder.file(file), unprivilegedUser, unprivilegedUser);
    database = await PostgresServer.start({
      ssl: "on",
      ssl_cert_file: folder.file("server.crt"),
      ssl_key_file: folder.file("server.key"),
    });
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const address = (host: string, query: string) =>
    `postgres://postgres@${host}:${database.port}/postgres?retry_timeout=1&${query}`;
  const migrate = (host: string, query: string) =>
    runCommand(["migrate", "--database", address(host, query)]);
  /** The exit codes of commands at the same time: those that cannot connect retry for a second. */
  const exitCodes = async (attempts: readonly (readonly [host: string, query: string])[]) => {
    const results = await Promise.all(attempts.map(([host, query]) => migrate(host, query)));
    return results.map(({ exitCode }) => exitCode);
  };

  async function usesTls(query: string): Promise<boolean> {
    await using _ = await RunningServer.startInProcess({ database: address("localhost", query) });
    const rows = await database.query(
      "postgres",
      "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'plantstore'",
    );
    expect(rows.length).toBeGreaterThan(0);
    return rows.every(({ ssl }) => ssl === true);
  }

  test("disable connects without TLS; prefer and require use TLS", async () => {
    expect(await usesTls("sslmode=disable")).toBe(false);
    expect(await usesTls("sslmode=prefer")).toBe(true);
    expect(await usesTls("sslmode=require")).toBe(true);
  });

  test.concurrent("verify-ca verifies the certificate, verify-full its name too", async () => {
    const ca = `sslrootcert=${encodeURIComponent(folder.file("ca.crt"))}`;
    const accepted = [
      ["localhost", `sslmode=verify-full&${ca}`],
      ["127.0.0.1", `sslmode=verify-ca&${ca}`],
      // As libpq does: a root certificate makes require a verify-ca.
      ["127.0.0.1", `sslmode=require&${ca}`],
    ] as const;
    expect(await exitCodes(accepted)).toEqual([0, 0, 0]);
    const wrong = `sslrootcert=${encodeURIComponent(makeCertificate(folder, "other", "/CN=other").certificate)}`;
    const rejected = [
      ["127.0.0.1", `sslmode=verify-full&${ca}`],
      ["localhost", "sslmode=verify-full"],
      ...["require", "verify-ca", "verify-full"].map(
        (mode) => ["localhost", `sslmode=${mode}&${wrong}`] as const,
      ),
    ] as const;
    expect(await exitCodes(rejected)).toEqual([1, 1, 1, 1, 1]);
    expect((await migrate("localhost", "sslmode=verify-full&sslrootcert=/none.crt")).stderr).toContain(
      "/none.crt cannot be read",
    );
  });

  test.concurrent("a statement that times out is cancelled over TLS with verify-full", async () => {
    const ca = `sslrootcert=${encodeURIComponent(folder.file("ca.crt"))}`;
    await expectCancelled(address("localhost", `sslmode=verify-full&${ca}`), database);
  });

  test.concurrent("prefer connects to a server without TLS, and require does not", async () => {
    await using plain = await sharedPostgres();
    const { address } = await plain.newDatabase();
    const plainAddress = (mode: string) => `${address}?retry_timeout=1&sslmode=${mode}`;
    expect((await runCommand(["migrate", "--database", plainAddress("prefer")])).exitCode).toBe(0);
    const refused = await runCommand(["migrate", "--database", plainAddress("require")]);
    expect(refused).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("does not support SSL") });
  });
});

/**
 * A statement that times out at its client must not continue on the server, which would not notice
 * by itself.
 */
async function expectCancelled(address: string, database: PostgresDatabases): Promise<void> {
  const [config] = parsePostgresUrl(address.replace("postgres:", "")).hosts;
  const pool = new HostPool({ ...config, query_timeout: 1 }, 1);
  expect(await settled(pool.query("SELECT pg_sleep(3600)"))).toThrow("Query read timeout");
  const sleeping = "SELECT FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(3600)' AND state = 'active'";
  await eventually(
    "the statement has ended",
    () => database.query("postgres", sleeping),
    (rows) => rows.length === 0,
  );
  await pool.close();
}

test.concurrent("a statement that times out is cancelled over TCP and over a Unix socket", async () => {
  using folder = new TemporaryFolder();
  chmodSync(folder.path, 0o777);
  await using database = await PostgresServer.start({ unix_socket_directories: folder.path });
  await expectCancelled(database.address("postgres", [], "?sslmode=disable"), database);
  const socket = `postgres://postgres@${encodeURIComponent(folder.path)}:${database.port}/postgres`;
  await expectCancelled(`${socket}?sslmode=disable`, database);
  expect((await runCommand(["migrate", "--database", socket])).exitCode).toBe(0);
});

test.concurrent("a statement that waits for one that is cancelled does not delay the end of its connection", async () => {
  await using database = await sharedPostgres();
  const [config] = parsePostgresUrl(
    `${database.address("postgres").replace("postgres:", "")}?sslmode=disable`,
  ).hosts;
  const pool = new HostPool({ ...config }, 1);
  const connection = await pool.connect();
  const statements = [1, 2].map(() => connection.query("SELECT pg_sleep(5)"));
  const startedAt = performance.now();
  connection.release(true);
  const results = await Promise.allSettled(statements);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  // Cancel requests end after a minute.
  expect(performance.now() - startedAt).toBeLessThan(30_000);
  await pool.close();
});

interface PgBouncer extends AsyncDisposable {
  /** The address of a database through it. */
  readonly address: (database: string) => string;
}

/**
 * PgBouncer in transaction mode in front of a server, with two connections to each of its
 * databases.
 */
async function startPgBouncer(database: PostgresDatabases): Promise<PgBouncer> {
  const folder = new TemporaryFolder();
  const port = reservePort();
  writeFileSync(folder.file("users.txt"), '"postgres" ""\n');
  writeFileSync(
    folder.file("pgbouncer.ini"),
    [
      "[databases]",
      `* = host=127.0.0.1 port=${database.port}`,
      "[pgbouncer]",
      "listen_addr = 127.0.0.1",
      `listen_port = ${port}`,
      "unix_socket_dir =",
      "auth_type = trust",
      `auth_file = ${folder.file("users.txt")}`,
      "pool_mode = transaction",
      "default_pool_size = 2",
      "",
    ].join("\n"),
  );
  if (isRoot) chmodSync(folder.path, 0o755);
  const bouncer = Bun.spawn(
    [programPath("pgbouncer"), ...(isRoot ? ["-u", "nobody"] : []), folder.file("pgbouncer.ini")],
    {
      stdout: "ignore",
      stderr: "ignore",
    },
  );
  // It accepts connections a moment after its start.
  await eventually("PgBouncer accepts connections", () => {
    if (bouncer.exitCode !== null) throw new Error("PgBouncer did not start");
    return acceptsConnections(port);
  });
  return {
    address: (name) => `postgres://postgres@127.0.0.1:${port}/${name}`,
    async [Symbol.asyncDispose]() {
      bouncer.kill();
      await bouncer.exited;
      folder[Symbol.dispose]();
    },
  };
}

describeIfInstalled("pgbouncer", "PgBouncer in transaction mode", () => {
  let postgres: PostgresDatabases;
  let bouncer: PgBouncer;
  beforeAll(async () => {
    postgres = await sharedPostgres();
    bouncer = await startPgBouncer(postgres);
  });
  afterAll(async () => {
    await bouncer[Symbol.asyncDispose]();
    await postgres[Symbol.asyncDispose]();
  });

  test.concurrent("plants are created over fewer connections than batches in flight", async () => {
    const { name } = await postgres.newDatabase();
    await using server = await RunningServer.startInProcess({ database: bouncer.address(name) });
    const target = await server.target();
    const load = new Load();
    load.start([target], 32);
    await load.acknowledgedMore(1_000);
    await load.stop();
    expect([...load.statuses.keys()]).toEqual([200]);
    expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
    expect((await post(target, plantJson(1n, "Ficus"))).json).toMatchObject({ error: 40009 });
    const exported = (await server.command("export")).stdout.replace('{"id":1,"name":"Monstera"}\n', "");
    expect(load.audit(exported)).toEqual([]);
  });

  test.concurrent("statements are unnamed; names that it would pass on are refused with the reason", async () => {
    const { name } = await postgres.newDatabase();
    const address = `${bouncer.address(name)}?retry_timeout=1`;
    const primary = new Primary(parsePostgresUrl(address.replace("postgres:", "")));
    expect(await primary.once(async ({ traits }) => traits.namesStatements)).toBe(false);
    await primary.close();
    // Twice, as a name that stayed on a shared connection would be found by the second one.
    for (let attempt = 0; attempt < 2; attempt++) {
      const refused = await runCommand(["migrate", "--database", `${address}&statements=named`]);
      expect(refused).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining("a pooler that does not track prepared statements"),
      });
    }
    expect((await runCommand(["migrate", "--database", `${address}&statements=unnamed`])).exitCode).toBe(0);
  });

  test.concurrent("a pool that finds its names on shared connections continues without them", async () => {
    const { name } = await postgres.newDatabase();
    const { hosts } = parsePostgresUrl(bouncer.address(name).replace("postgres:", ""));
    const pool = new HostPool({ ...hosts[0], ssl: false }, 4);
    pool.traits = { ...pool.traits, synchronousCommit: "on", namesStatements: true };
    const statement = { name: "one", text: "SELECT 1 AS one" };
    const states = await Promise.all(
      Array.from({ length: 20 }, () =>
        pool.query(statement).then(
          () => "done",
          (error) => classifyError(error),
        ),
      ),
    );
    expect(states).toContain("retryable");
    expect(pool.traits.namesStatements).toBe(false);
    expect((await pool.query({ text: "SELECT 1 AS one" })).rows).toEqual([{ one: 1 }]);
    await pool.close();
  });

  test.concurrent("a statement that times out is cancelled", async () => {
    const { name } = await postgres.newDatabase();
    await expectCancelled(`${bouncer.address(name)}?sslmode=disable`, postgres);
  });

  test.concurrent("while the table is locked, its connections are not used up", async () => {
    const { name, address } = await postgres.newDatabase();
    await using server = await RunningServer.startInProcess({
      database: `${bouncer.address(name)}?statement_timeout=1&retry_timeout=1`,
    });
    const target = await server.target();
    const other = new Client({ connectionString: address });
    await other.connect();
    await other.query("BEGIN; LOCK TABLE plants");
    for (let id = 0n; id < 3n; id++) expect((await post(target, plantJson(id, "Monstera"))).status).toBe(503);
    await other.end();
    expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
  });
});
