// A start that fails leaves the store as it was: its contract, or that there is none.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { shelfFields, shelves } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { createStore, RunningServer, runCommand, TemporaryFolder, withStore } from "../../support/server.ts";

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());

const folder = resources.use(new TemporaryFolder());
const file = (name: string, text: string) => {
  writeFileSync(folder.file(name), text);
  return folder.file(name);
};

/** A description of shelves whose operations take bearer tokens. */
function secured(properties: Record<string, object>): string {
  const securitySchemes = { bearer: { type: "http", scheme: "bearer" } };
  const document = JSON.parse(shelves(properties).text);
  return JSON.stringify({ ...document, security: [{ bearer: [] }], components: { securitySchemes } });
}

const original = { text: secured(shelfFields) };
const newerFields = { ...shelfFields, note: { type: "string" } };
const newer = file("newer.json", secured(newerFields));
const open = file("open.json", shelves(newerFields).text);
const text = file("text.pem", "no certificate");
const operation = '{ run() {}, method: "POST", path: "/shelves", operationId: "own" }';
const loading = file("loading.ts", 'throw new Error("at the load");');
const making = file("making.ts", 'export default () => { throw new Error("for the contract"); };');
const twice = file("twice.ts", `export default [${operation}, ${operation}];`);

/** The port of a server that runs. */
let used = "";
beforeAll(async () => {
  used = new URL(resources.use(await RunningServer.startInProcess()).url).port;
});

const failures: [what: string, args: () => string[], message: string][] = [
  ["its port is in use", () => ["--contract", newer, "--port", used], "(EADDRINUSE)"],
  ["the port of probes is in use", () => ["--contract", newer, "--admin-port", used], "(EADDRINUSE)"],
  [
    "its address is of another machine",
    () => ["--contract", newer, "--host", "192.0.2.1"],
    "cannot listen on",
  ],
  [
    "its certificate is none",
    () => ["--contract", newer, "--tls-certificate", text, "--tls-key", text],
    "text.pem",
  ],
  ["its module throws", () => ["--contract", newer, "--extend", loading], "at the load"],
  ["its module throws for the contract", () => ["--contract", newer, "--extend", making], "for the contract"],
  ["its module has an operation twice", () => ["--contract", newer, "--extend", twice], "is served already"],
  ["an operation needs no token", () => ["--contract", open], "needs no token"],
];

for (const engine of engines)
  describe(engine.name, () => {
    // What fails is before the store on every engine: one shows that it keeps its contract there, too.
    test.each(engine === engines[0] ? failures : failures.slice(0, 1))(
      "a server does not start where %s, and the store keeps its contract",
      async (_, args, message) => {
        const { database } = resources.use(await engine.createTestStore(original));
        await createStore(database, original);
        const ports = ["--port", "0", "--admin-port", "0"];
        const failed = await runCommand(["serve", ...ports, "--database", database, ...args()]);
        expect(failed.stderr).toContain(message);
        expect(failed.exitCode).not.toBe(0);
        const source = await withStore(database, "existing", async ({ contract }) => contract.source);
        expect(source).toEqual(original);
        await using server = await RunningServer.startInProcess({ database, args: ["--contract", newer] });
        expect((await fetch(`${server.url}/openapi.json`)).status).toBe(200);
        expect(await withStore(database, "existing", async ({ contract }) => contract.source)).toEqual({
          text: secured(newerFields),
        });
      },
    );
  });

test.each(failures)("a server does not start where %s, and makes no file", async (_, args, message) => {
  using empty = new TemporaryFolder();
  const path = empty.file("plants.db");
  const ports = ["--port", "0", "--admin-port", "0"];
  const { stderr } = await runCommand(["serve", ...ports, "--database", `sqlite:${path}`, ...args()]);
  expect(stderr).toContain(message);
  expect(existsSync(path)).toBe(false);
});

test("a server that was started with a contract ends when the store gets another one; others follow", async () => {
  await using server = await RunningServer.startInProcess({ args: ["--contract", newer] });
  const { database } = server;
  await using other = await RunningServer.startInProcess({ database });
  const wanted = file("wanted.json", secured({ ...newerFields, colour: { type: "string" } }));
  expect((await runCommand(["migrate", "--database", database, "--contract", wanted])).exitCode).toBe(0);
  const { exitCode, stderr } = await server.ended();
  expect(exitCode).toBe(1);
  expect(stderr).toContain(
    `plantstore: the store has got another contract than --contract ${newer}; start the server without it, or with that one`,
  );
  await other.logged(({ msg }) => msg === "the store has another contract, which is served now");
  const description = await (await fetch(`${other.url}/openapi.json`)).text();
  expect(description).toContain('"colour"');
  expect((await fetch(`${await other.adminUrl()}/console/api/session`)).status).toBe(200);
  expect(await other.stop()).toMatchObject({ exitCode: 0 });
});

test("a module that cannot make its operations for another contract is left out, and says so", async () => {
  const module = file(
    "once.ts",
    `import { defineOperation } from "plantstore";
     export default ({ collections: [{ fields }] }) => {
       if (fields.some(({ name }) => name === "colour")) throw new Error("no colours");
       const responses = { 200: { description: "Own.", returns: { type: "object" } } };
       const handle = async () => ({ status: 200, json: { own: true } });
       return [defineOperation({ operationId: "own", method: "GET", path: "/own", summary: "Own", responses, handle })];
     };`,
  );
  await createStore(`sqlite:${folder.file("own.db")}`, { text: secured(newerFields) });
  await using server = await RunningServer.startInProcess({
    database: `sqlite:${folder.file("own.db")}`,
    args: ["--extend", module],
  });
  const headers = { authorization: `Bearer ${await server.createToken()}` };
  const own = () => fetch(`${server.url}/own`, { headers }).then(({ status }) => status);
  expect(await own()).toBe(200);
  const wanted = file("colours.json", secured({ ...newerFields, colour: { type: "string" } }));
  await server.command("migrate", "--contract", wanted);
  await server.logged(({ msg }) => String(msg).includes("no colours"));
  await server.logged(({ msg }) => msg === "the store has another contract, which is served now");
  expect(await own()).toBe(404);
  expect(await server.stop()).toMatchObject({ exitCode: 0 });
});
