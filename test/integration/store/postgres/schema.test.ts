// The schema, privileges and settings of a database: what is created, by which role, and what is
// rejected.

import { afterAll, expect, test } from "bun:test";
import { Client } from "pg";
import { describeError } from "../../../../src/cli/main.ts";
import { compiler } from "../../../../src/openapi/compiler.ts";
import { storeAt } from "../../../../src/store/open-store.ts";
import type { OpenMode } from "../../../../src/store/plant-store.ts";
import { sendJson } from "../../../support/contract-sandbox.ts";
import { shelves } from "../../../support/contracts.ts";
import { plantJson, post } from "../../../support/http.ts";
import { logLines } from "../../../support/output.ts";
import { reservePort } from "../../../support/ports.ts";
import { PostgresServer, sharedPostgres } from "../../../support/postgres.ts";
import { createStore, RunningServer, runCommand, withStore } from "../../../support/server.ts";
import { settled } from "../../../support/settled.ts";
import { unexpected } from "../../../support/stored-plants.ts";

const database = await sharedPostgres();
afterAll(() => database[Symbol.asyncDispose]());

const serve = (address: string, ...args: string[]) =>
  runCommand(["serve", "--port", "0", "--admin-port", "off", "--database", address, ...args]);

/**
 * The error of a server that opens its store, in this process: a server takes 0.3 s of a processor
 * to start.
 */
async function openingError(address: string, mode: OpenMode = "create") {
  const error = await withStore(address, mode, async () => undefined).catch((error: unknown) => error);
  const { exitCode, line } = describeError(error);
  return { exitCode, stderr: `${line}\n` };
}

test("concurrent migrations create one schema, and migrating again changes nothing", async () => {
  const { name, address } = await database.newDatabase();
  const results = await Promise.all(
    Array.from({ length: 5 }, () => runCommand(["migrate", "--database", address])),
  );
  expect(results.map(({ exitCode }) => exitCode)).toEqual(Array(5).fill(0));
  // A busy machine may take long enough to connect that the wait is reported ahead of it.
  const messages = results.map(({ stderr }) =>
    stderr.replace(/^waiting for .*\n/gm, "").replace(/ \S+:\d+\/\w+/, ""),
  );
  const next = `"plantstore serve --database ${address.includes("?") ? `'${address}'` : address}" runs a server on it.\n`;
  expect(messages.sort()).toEqual([
    ...Array(4).fill(`The store is up to date. ${next}`),
    `The store was created. ${next}`,
  ]);
  expect(await database.query(name, "SELECT version FROM plantstore_schema")).toEqual([{ version: 1 }]);
});

test("a migration waits for another one that creates the store", async () => {
  const { name, address } = await database.newDatabase();
  const other = new Client({ connectionString: database.address(name) });
  await other.connect();
  await other.query("BEGIN; SELECT pg_advisory_xact_lock(x'706c616e74'::bigint)");
  const waiting = Promise.withResolvers<string>();
  const opening = storeAt(address).open("create", unexpected, { compiler, report: waiting.resolve });
  opening.catch(waiting.reject);
  expect(await waiting.promise).toBe("a lock that another migration holds");
  await other.end();
  await (await opening)[Symbol.asyncDispose]();
});

test("the role of a server needs no privilege to create tables", async () => {
  const { name, address } = await database.newDatabase();
  const server = address.replace("postgres@", `server_${name}@`);
  await database.query(name, `CREATE USER server_${name}`);
  // The default from PostgreSQL 15 on.
  await database.query(name, "REVOKE CREATE ON SCHEMA public FROM PUBLIC");

  const before = await serve(server);
  expect(before).toMatchObject({ exitCode: 1, stdout: "" });
  expect(before.stderr).toMatch(
    /^plantstore: the schema cannot be created: [^\n]*; run "plantstore migrate" as a user that may create tables\n$/,
  );

  await createStore(address);
  await database.query(name, `GRANT SELECT ON plantstore_schema, collections TO server_${name}`);
  await database.query(name, `GRANT SELECT, INSERT ON plants, creators TO server_${name}`);
  await database.query(name, `GRANT SELECT, INSERT, UPDATE ON tokens, token_version TO server_${name}`);
  await using running = await RunningServer.startInProcess({ database: server });
  const answer = await post(await running.target(), plantJson(1n, "Monstera"));
  expect(answer.status).toBe(200);

  await database.query(name, "UPDATE plantstore_schema SET version = 0");
  expect(await serve(server)).toEqual(before);
});

test.each([
  ["that begin with the same 46 characters", [`/${"a".repeat(46)}-one`, `/${"a".repeat(46)}-two`]],
  ["of which one could be the index of the other", ["/items", "/items-pkey"]],
  ["of the longest name", [`/${"b".repeat(56)}`, `/${"b".repeat(51)}-pkey`]],
])("tables %s each store their resources", async (_, paths) => {
  const { address } = await database.newDatabase();
  const documents = paths.map((path) => JSON.parse(shelves({ name: { type: "string" } }, [], path).text));
  // Of several collections each needs a path of one resource.
  const items = paths.map((path) => [`${path}/{id}`, { get: { responses: { 200: { description: "ok" } } } }]);
  const merged = Object.assign(Object.fromEntries(items), ...documents.map((each) => each.paths));
  await createStore(address, { text: JSON.stringify({ ...documents[0], paths: merged }) });
  await using server = await RunningServer.startInProcess({ database: address, args: ["--open"] });
  for (const path of [...paths, ...paths])
    expect([path, await sendJson(server.url + path, "POST", { id: 1, name: path }, {})]).toEqual([
      path,
      expect.objectContaining({ status: 200, json: { id: 1, name: path } }),
    ]);
  const { stderr } = await server.stop();
  expect(logLines(stderr).filter(({ level }) => level !== "info")).toEqual([]);
});

test("without a schema, and with a newer one, the error says what to do", async () => {
  const { name, address } = await database.newDatabase();
  const expectRefusal = async (result: Promise<{ exitCode: number; stderr: string }>, message: string) => {
    const { exitCode, stderr } = await result;
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: `plantstore: ${message}\n` });
  };
  const none = 'there is no plant store in the database; run "plantstore migrate" first';
  await expectRefusal(serve(address, "--migrate", "off"), none);
  await expectRefusal(runCommand(["export", "--database", address]), none);

  await createStore(address);
  await database.query(name, "UPDATE plantstore_schema SET version = 99");
  const newer = `the database has schema version 99, but this program knows versions up to ${1}; run a newer plantstore`;
  for (const refused of [
    serve(address),
    openingError(address, "writable"),
    runCommand(["migrate", "--database", address]),
  ]) {
    await expectRefusal(refused, newer);
  }
});

test("a database that is read-only, not in UTF-8, or that may lose commits is rejected", async () => {
  await using forgetful = await PostgresServer.start({ fsync: "off" });
  await using torn = await PostgresServer.start({ full_page_writes: "off" });
  const latin1 = await database.newDatabase("ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
  const readOnly = await database.newDatabase();
  await database.query("postgres", `ALTER DATABASE ${readOnly.name} SET default_transaction_read_only = on`);
  const errors = await Promise.all(
    [latin1.address, readOnly.address, forgetful.address("postgres"), torn.address("postgres")].map(
      (address) => openingError(`${address}?retry_timeout=1`),
    ),
  );
  const reasons = [
    "has the encoding LATIN1; it must be UTF8: create a database with ENCODING 'UTF8'",
    "accepts no writes (a standby, or read-only)",
    "has fsync off, so that commits can be lost; set it to on",
    "has full_page_writes off, so that a power cut can tear pages; set it to on",
  ];
  for (const [index, { exitCode, stderr }] of errors.entries()) {
    expect(exitCode).toBe(1);
    expect(stderr).toStartWith("plantstore: ");
    expect(stderr).toContain(`: ${reasons[index]}`);
  }
});

test("hosts that refuse the connection and unknown roles are named", async () => {
  const { stderr } = await serve("postgres://unknown@127.0.0.1:1,127.0.0.1:2/none?retry_timeout=1");
  expect(stderr).toMatch(
    /^plantstore: cannot open the store: 127\.0\.0\.1:1: [^;]*ECONNREFUSED[^;]*; 127\.0\.0\.1:2: [^\n]+\n$/m,
  );
  const stranger = await openingError(
    `postgres://stranger@127.0.0.1:${database.port}/postgres?retry_timeout=1`,
  );
  expect(stranger.stderr).toMatch(
    /^plantstore: cannot open the store: [^\n]*role "stranger" does not exist[^\n]*\n$/m,
  );
});

test("an opening that is interrupted does not wait for its database", async () => {
  const interrupt = new AbortController();
  const { signal } = interrupt;
  const report = () => interrupt.abort();
  const address = `postgres://nobody@127.0.0.1:${reservePort()}/none?retry_timeout=3600`;
  const opening = storeAt(address).open("existing", unexpected, { compiler, report, signal });
  expect(await settled(opening)).toThrow("cannot open the store");
});

test("missing privileges are named in one line, and make the server not ready", async () => {
  const { name, address } = await database.newDatabase();
  await createStore(address);
  await database.query(name, `CREATE USER poor_${name}`);
  await database.query(name, `GRANT SELECT ON plantstore_schema, collections TO poor_${name}`);
  const poor = address.replace("postgres@", `poor_${name}@`);
  expect((await serve(poor)).stderr).toMatch(
    /^plantstore: the database request failed: permission denied for table token_version [^\n]+\n$/,
  );

  await database.query(
    name,
    `GRANT SELECT, INSERT, UPDATE ON tokens, token_version, creators TO poor_${name}`,
  );
  await using server = await RunningServer.startInProcess({ database: poor });
  const adminUrl = await server.adminUrl();
  const ready = async () => (await fetch(`${adminUrl}/readyz`)).status;
  const target = await server.target();
  expect(await ready()).toBe(503);
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(503);
  await database.query(name, `GRANT SELECT, INSERT ON plants TO poor_${name}`);
  expect(await ready()).toBe(200);
  expect((await post(target, plantJson(1n, "Monstera"))).status).toBe(200);
});

test("with SERIALIZABLE as the database's default, races have one winner and no request fails", async () => {
  const { name, address } = await database.newDatabase();
  await database.query(
    "postgres",
    `ALTER DATABASE ${name} SET default_transaction_isolation = 'serializable'`,
  );
  await using server = await RunningServer.startInProcess({ database: address });
  const target = await server.target();
  for (let round = 0; round < 10; round++) {
    const id = BigInt(round);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) => post(target, plantJson(id, `race ${index % 8}`))),
    );
    expect(new Set(answers.filter(({ status }) => status === 200).map(({ text }) => text)).size).toBe(1);
    expect(answers.filter(({ status }) => status !== 200).every(({ text }) => text.includes("40009"))).toBe(
      true,
    );
  }
});
