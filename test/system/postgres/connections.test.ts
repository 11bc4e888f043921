// Connections to PostgreSQL: TLS with libpq's sslmode, and PgBouncer.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, chownSync, cpSync, writeFileSync } from "node:fs";
import { makeCertificate } from "../../support/certificates.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { Load } from "../../support/load.ts";
import { acceptsConnections, reservePort } from "../../support/ports.ts";
import { type PostgresDatabases, PostgresServer, sharedPostgres } from "../../support/postgres.ts";
import { describeIfInstalled, pathOf, programPath } from "../../support/programs.ts";
import { RunningServer, runCommand, TemporaryFolder } from "../../support/server.ts";

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
    writeFileSync(
      folder.file("pg_hba.conf"),
      [
        "local all all trust",
        "host all postgres all trust",
        "hostssl all bound all scram-sha-256",
        "hostssl all plain all password",
        "hostssl all trusted all trust",
      ].join("\n"),
    );
    if (isRoot)
      for (const file of ["server.key", "server.crt", "pg_hba.conf"])
        chownSync(folder.file(file), unprivilegedUser, unprivilegedUser);
    database = await PostgresServer.start({
      ssl: "on",
      ssl_cert_file: folder.file("server.crt"),
      ssl_key_file: folder.file("server.key"),
      hba_file: folder.file("pg_hba.conf"),
    });
    for (const role of ["bound", "plain", "trusted"])
      await database.query("postgres", `CREATE ROLE ${role} LOGIN SUPERUSER PASSWORD 'secret'`);
  });
  afterAll(async () => {
    await database[Symbol.asyncDispose]();
    folder[Symbol.dispose]();
  });

  const address = (host: string, query: string, credentials = "postgres") =>
    `postgres://${credentials}@${host}:${database.port}/postgres?retry_timeout=1&${query}`;
  const migrate = (host: string, query: string, credentials?: string) =>
    runCommand(["migrate", "--database", address(host, query, credentials)]);
  const migrateAs = (role: string, query: string) =>
    migrate("localhost", `sslmode=require&${query}`, `${role}:secret`);

  async function usesTls(query: string): Promise<boolean> {
    await using _ = await RunningServer.startInProcess({ database: address("localhost", query) });
    const rows = await database.query(
      "postgres",
      "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'plantstore'",
    );
    expect(rows.length).toBeGreaterThan(0);
    return rows.every(({ ssl }) => ssl === true);
  }

  test("disable, the default, connects without TLS; require uses TLS", async () => {
    expect(await usesTls("")).toBe(false);
    expect(await usesTls("sslmode=disable")).toBe(false);
    expect(await usesTls("sslmode=require")).toBe(true);
  });

  test.concurrent("verify-ca verifies the certificate, verify-full its name too", async () => {
    const ca = `sslrootcert=${encodeURIComponent(folder.file("ca.crt"))}`;
    const wrong = `sslrootcert=${encodeURIComponent(makeCertificate(folder, "other", "/CN=other").certificate)}`;
    // Commands that cannot connect retry for a second.
    const results = await Promise.all([
      migrate("localhost", `sslmode=verify-full&${ca}`),
      migrate("127.0.0.1", `sslmode=verify-ca&${ca}`),
      migrate("127.0.0.1", `sslmode=verify-full&${ca}`),
      migrate("localhost", `sslmode=verify-ca&${wrong}`),
    ]);
    expect(results.map(({ exitCode }) => exitCode)).toEqual([0, 0, 1, 1]);
    expect((await migrate("localhost", "sslmode=verify-full&sslrootcert=/none.crt")).stderr).toContain(
      "/none.crt cannot be read",
    );
  });

  test("channel_binding=require refuses a server that asks for another proof", async () => {
    expect(await migrateAs("bound", "channel_binding=require")).toMatchObject({ exitCode: 0 });
    expect(await migrateAs("plain", "channel_binding=prefer")).toMatchObject({ exitCode: 0 });
    for (const role of ["plain", "trusted"]) {
      const { exitCode, stderr } = await migrateAs(role, "channel_binding=require");
      expect({ exitCode, stderr }).toEqual({
        exitCode: 1,
        stderr: expect.stringContaining(
          "channel_binding=require, but the server does not ask for SCRAM-SHA-256-PLUS",
        ),
      });
    }
  });

  test("sslnegotiation=direct and options reach the server", async () => {
    const { exitCode } = await migrateAs("bound", "sslnegotiation=direct&options=-c%20work_mem%3D5MB");
    expect(exitCode).toBe(0);
  });
});

test.concurrent("a host may be the folder of a Unix socket", async () => {
  using folder = new TemporaryFolder();
  chmodSync(folder.path, 0o777);
  await using database = await PostgresServer.start({ unix_socket_directories: folder.path });
  const socket = `postgres://postgres@${encodeURIComponent(folder.path)}:${database.port}/postgres`;
  expect((await runCommand(["migrate", "--database", socket])).exitCode).toBe(0);
  const asParameter = `postgres:///postgres?host=${folder.path}&port=${database.port}&user=postgres&sslmode=require`;
  expect((await runCommand(["token", "list", "--database", asParameter])).exitCode).toBe(0);
});

/** From 1.21 on PgBouncer tracks prepared statements. */
const tracksStatements = (() => {
  const path = pathOf("pgbouncer");
  const text = path === null ? "" : spawnSync(path, ["--version"], { encoding: "utf8" }).stdout;
  return Bun.semver.satisfies(/PgBouncer (\S+)/.exec(text)?.[1] ?? "0.0.0", ">=1.21.0");
})();

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
      ...(tracksStatements ? ["max_prepared_statements = 10"] : []),
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

/** What a role behind PgBouncer needs. */
const roleParameters = [
  "statement_timeout = 5000",
  "lock_timeout = 250",
  "idle_in_transaction_session_timeout = 10000",
];

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

  test("a role without parameters is refused, with the statements that set them", async () => {
    const { name } = await postgres.newDatabase();
    const refused = await runCommand(["migrate", "--database", `${bouncer.address(name)}?retry_timeout=1`]);
    expect(refused).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining(
        "is behind a pooler, so its role needs parameters; run ALTER ROLE postgres SET statement_timeout = '5000'; ALTER ROLE postgres SET lock_timeout = '250'; ALTER ROLE postgres SET idle_in_transaction_session_timeout = '10000'",
      ),
    });
  });

  test.each([
    ["default_transaction_isolation", "serializable", "read committed"],
    ["standard_conforming_strings", "off", "on"],
  ])("a role is refused with %s = %s", async (parameter, wrong, right) => {
    const { name } = await postgres.newDatabase();
    for (const each of [...roleParameters, `${parameter} = '${wrong}'`])
      await postgres.query(name, `ALTER ROLE postgres IN DATABASE ${name} SET ${each}`);
    const refused = await runCommand(["migrate", "--database", `${bouncer.address(name)}?retry_timeout=1`]);
    expect(refused.stderr).toContain(`; run ALTER ROLE postgres SET ${parameter} = '${right}'; check`);
  });

  test.if(tracksStatements)("plants are created over fewer connections than batches in flight", async () => {
    const { name } = await postgres.newDatabase();
    for (const parameter of roleParameters)
      await postgres.query(name, `ALTER ROLE postgres IN DATABASE ${name} SET ${parameter}`);
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
});
