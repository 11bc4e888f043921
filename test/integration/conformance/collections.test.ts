// The kit with a contract of three collections: checks each of them, and reports by collection.

import { afterAll, beforeAll, expect, test } from "bun:test";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { collectionOperations } from "../../../src/plants/index.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { type InProcessServer, startInProcess } from "../../support/in-process-server.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { runCommand, TemporaryFolder } from "../../support/server.ts";
import { openedStore } from "../../support/stored-plants.ts";
import { type Bug, setText, startBuggyServer, textOf } from "./buggy-server.ts";
import { altersText } from "./kinds-of-bugs.ts";

const file = contractFile("estate.yaml");
const text = await Bun.file(file).text();
const names = ["parcels", "couriers", "special-events"];

/** The contract with ids of couriers that the rules cannot make. */
const coded = text.replaceAll(
  /(?<=courierId(?:: |, in: path, required: true, schema: )\{ type: string, )format: uuid(?:, examples: \[.*?\])?/g,
  'pattern: "^C[0-9]{9}$"',
);

const resources = new AsyncDisposableStack();
afterAll(() => resources.disposeAsync());
const folder = resources.use(new TemporaryFolder());
let service: InProcessServer;
let token: string;

beforeAll(async () => {
  const { collections } = await readContract({ text });
  const store = await openedStore(`sqlite:${folder.file("store.db")}`, undefined, { text });
  const operations = collections.flatMap((each) => collectionOperations(each));
  service = resources.use(await startInProcess({ store, basePath: "", operations }));
  ({ token } = await service.target());
});

function check(url: string, ...args: readonly string[]) {
  return runCommand(["conformance", "--contract", file, "--url", url, "--token", token, ...args]);
}

/** The lines of a report below the name of each collection. */
function partsOf(stdout: string): Readonly<Record<string, string>> {
  const parts = stdout.split(/^(parcels|couriers|special-events):\n/m);
  return Object.fromEntries(names.map((name) => [name, parts[parts.indexOf(name) + 1] ?? ""]));
}

test("a server keeps the rules of all collections, and the report has a part for each", async () => {
  const { exitCode, stdout, stderr } = await check(service.url, "--rule", "contract,ids,idempotence");
  expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: "" });
  expect(stdout).toStartWith(`Estate conformance of ${service.url}\n`);
  const { parcels, couriers, "special-events": events } = partsOf(stdout);
  expect(parcels).toContain("ids.beyond-53-bits");
  expect(couriers).toContain("n/a     ids.limits");
  expect(events).toContain("(the server chooses the ids)");
  for (const part of [parcels, couriers, events])
    expect(part).toMatch(/\ncontract: \d+ of \d+ rules hold, 0 do not/);
  expect(stdout).toMatch(/\n\nIn all \d+ of \d+ rules hold, 0 do not, \d+ do not apply, in \S+ s\n$/);
});

test("a bug in one collection fails in its part alone", async () => {
  const bug = altersText(["contract.create"], (body) => body.replace('"name":"', '"name":"x'));
  using buggy = await startBuggyServer((request) => service.server.fetch(request), token, bug);
  const { exitCode, stdout } = await check(buggy.url, "--rule", "contract.create");
  const parts = partsOf(stdout);
  expect(Object.keys(parts).filter((name) => parts[name]?.includes("FAIL contract.create"))).toEqual([
    "couriers",
  ]);
  expect(exitCode).toBe(1);
});

test.each(["couriers", "/couriers"])("--collection %s checks one, with a report of its own", async (name) => {
  const { exitCode, stdout } = await check(service.url, "--rule", "contract.create", "--collection", name);
  expect(stdout).not.toMatch(/couriers:|In all/);
  expect(stdout).toContain("\n1 of 1 rules hold, 0 do not, in ");
  expect(exitCode).toBe(0);
});

test("a collection whose plants the rules cannot make, or that has no such rule, is skipped", async () => {
  const codedFile = folder.file("coded.yaml");
  await Bun.write(codedFile, coded);
  const { exitCode, stdout } = await runCommand([
    "conformance",
    "--list",
    "--contract",
    codedFile,
    "--rule",
    "ids.limits",
  ]);
  expect(exitCode).toBe(0);
  const { parcels, couriers, "special-events": events } = partsOf(stdout);
  expect(parcels).toStartWith("ids.limits  the contract");
  expect(couriers).toStartWith(
    "Not checked: the rules need ids that they can make, such as UUIDs, but the id of a courier ",
  );
  expect(events).toBe(
    "Not checked: ids.limits does not apply to this contract: the server chooses the ids\n",
  );
});

test("a collection that the server does not have cannot be checked, beside others that keep the rules", async () => {
  const more = folder.file("more.yaml");
  await Bun.write(more, text.replaceAll("/couriers", "/riders"));
  const args = ["--contract", more, "--url", service.url, "--token", token, "--rule", "contract.create"];
  const { exitCode, stdout } = await runCommand(["conformance", ...args]);
  expect(stdout).toContain(
    "riders:\nNot checked: --url looks wrong: POST /riders with a valid courier got 404\n",
  );
  expect(stdout).toContain("In all 2 of 2 rules hold");
  expect(exitCode).toBe(3);
});

test("members that the schema of errors does not require may be missing", async () => {
  const loose = folder.file("loose.yaml");
  await Bun.write(
    loose,
    text.replace("      required: [message]\n      properties: { message:", "      properties: { message:"),
  );
  expect(await Bun.file(loose).text()).not.toBe(text);
  const bug: Bug = {
    breaks: [],
    response: (response) => setText(response, textOf(response).replace(/^\{"message":.*\}$/, "{}")),
  };
  using buggy = await startBuggyServer((sent) => service.server.fetch(sent), token, bug);
  const args = ["--contract", loose, "--url", buggy.url, "--token", token, "--rule", "contract.as-described"];
  const { exitCode, stdout } = await runCommand(["conformance", ...args]);
  expect({ exitCode, stdout }).toEqual({
    exitCode: 0,
    stdout: expect.stringContaining("contract.as-described"),
  });
});

test("what is not checked is said first, and fails with --strict", async () => {
  const codedFile = folder.file("coded.yaml");
  await Bun.write(codedFile, coded);
  const args = ["--contract", codedFile, "--url", service.url, "--token", token, "--rule", "contract.create"];
  const { exitCode, stdout } = await runCommand(["conformance", ...args]);
  expect(stdout.split("\n")[2]).toBe("1 of 3 collections are not checked: couriers");
  expect(exitCode).toBe(0);
  expect((await runCommand(["conformance", ...args, "--strict"])).exitCode).toBe(3);
});

test("a URL of a host is followed to the path of the contract's server", async () => {
  await using sandbox = await RunningSandbox.startInProcess({ args: ["--contract", file] });
  const { origin, pathname } = new URL(sandbox.url);
  expect(pathname).toBe("/v1");
  const args = ["--contract", file, "--url", origin, "--token", sandbox.token, "--rule", "contract.create"];
  const { exitCode, stdout } = await runCommand(["conformance", ...args]);
  expect(stdout).toStartWith(`Estate conformance of ${sandbox.url}\n`);
  expect(exitCode).toBe(0);
});

test("a collection that the contract does not have is an error", async () => {
  const { exitCode, stderr } = await check(service.url, "--collection", "rooms");
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr:
      'plantstore: --collection: "rooms" is no collection of the contract; it has parcels, couriers, special-events\n',
  });
});
