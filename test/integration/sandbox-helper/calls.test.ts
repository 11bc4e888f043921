// startSandbox and the calls of a sandbox, on the real command.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import {
  type ErrorCode,
  type Sandbox,
  SandboxControlError,
  SandboxError,
  startSandbox,
} from "../../../packages/sandbox/src/index.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { plantJson, post } from "../../support/http.ts";
import { TemporaryFolder } from "../../support/server.ts";
import { settled } from "../../support/settled.ts";

const int64Max = 2n ** 63n - 1n;
const seeds = [
  { id: -(2n ** 63n), name: "" },
  { id: 1, name: "Ficus lyrata", tag: "tropical" },
  { id: int64Max, name: "Monstera 🌱", tag: "" },
];
const seedPlants = seeds.map(({ id, ...fields }) => ({ ...fields, id: BigInt(id) }));

const logged: string[] = [];
let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await startSandbox({ seed: seeds, log: (line) => logged.push(line) });
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

/** Creates a plant, and returns the status and the error. */
async function create(id: bigint, name: string, tag?: string): Promise<number> {
  const { status, json } = await post(sandbox, plantJson(id, name, tag));
  return (json as { error?: number }).error ?? status;
}

test("it has the addresses and the documented token, and its log is passed on line by line", async () => {
  expect(sandbox.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
  expect(sandbox.resourcesUrl).toBe(`${sandbox.url}/plants`);
  expect(sandbox.token).toBe("sandbox");
  expect((await fetch(`${sandbox.adminUrl}/livez`)).status).toBe(200);
  expect(process.kill(sandbox.pid, 0)).toBe(true);
  expect(logged.length).toBeGreaterThan(0);
  expect(logged.filter((line) => line === "" || line.includes("\n"))).toEqual([]);
});

test("a create is read back with its exact id, and a reset brings the seeds back", async () => {
  expect(await sandbox.resources()).toEqual(seedPlants);
  expect(await create(9007199254740993n, "Aloe vera", "succulent")).toBe(200);
  expect(await sandbox.resource(9007199254740993n)).toEqual({
    id: 9007199254740993n,
    name: "Aloe vera",
    tag: "succulent",
  });
  expect(await sandbox.resource(1)).toEqual({ id: 1n, name: "Ficus lyrata", tag: "tropical" });
  await sandbox.reset();
  expect(await sandbox.resources()).toEqual(seedPlants);
  expect(await sandbox.resource(9007199254740993n)).toBeUndefined();
});

test("a plant is added without a request, once", async () => {
  const plant = { id: 7, name: "Hoya" };
  expect(await sandbox.add(plant)).toEqual({ ...plant, id: 7n });
  expect(await sandbox.add(plant)).toEqual({ ...plant, id: 7n });
  expect(await settled(sandbox.add({ id: 7, name: "Aloe" }))).toThrow("already holds a different plant");
  expect(await settled(sandbox.add({ id: 8, name: "\0" }))).toThrow("cannot be stored");
  expect([await sandbox.resource(7), await sandbox.requests()]).toEqual([{ id: 7n, name: "Hoya" }, []]);
});

test("an id that is not exact is a TypeError", async () => {
  const inexact = 9007199254740992;
  expect(await settled(sandbox.resource(inexact))).toThrow(TypeError);
  expect(await settled(sandbox.force({ match: { id: inexact }, outcome: { error: 50300 } }))).toThrow(
    TypeError,
  );
  expect(await settled(startSandbox({ seed: [{ id: inexact, name: "" }] }))).toThrow(
    '"id" must be a bigint or a safe integer, but is the number 9007199254740992; use a bigint',
  );
});

test("requests of many pages are returned in one list, and those after a number", async () => {
  await Promise.all(Array.from({ length: 1_200 }, (_, index) => create(BigInt(index + 10), "Monstera")));
  const all = await sandbox.requests({ waitSeconds: 30 });
  expect(all).toHaveLength(1_200);
  expect(await sandbox.requests({ after: all.at(-2)?.number ?? 0 })).toEqual(all.slice(-1));
  expect(await sandbox.resources()).toHaveLength(1_200 + seeds.length);
});

describe("forced outcomes", () => {
  test("hold until they are removed, for an exact id and a number of requests", async () => {
    const rule = await sandbox.force({ match: { id: 9007199254740993n }, outcome: { error: 50300 } });
    expect(await sandbox.rules()).toEqual([
      { id: rule.id, match: { id: 9007199254740993n }, outcome: { error: 50300 }, applied: 0 },
    ]);
    expect(await create(9007199254740992n, "Monstera")).toBe(200);
    expect(await create(9007199254740993n, "Monstera")).toBe(50300);
    const [, forced] = await sandbox.requests();
    expect(forced).toMatchObject({ error: 50300, forced: { rule: rule.id } });
    await rule.remove();
    await rule.remove();
    expect(await create(9007199254740993n, "Monstera")).toBe(200);

    {
      await using _ = await sandbox.force({ times: 1, outcome: { error: 42900 } });
      expect(await create(5n, "Monstera")).toBe(42900);
      expect(await create(5n, "Monstera")).toBe(200);
    }
    expect(await sandbox.rules()).toEqual([]);
  });

  test("that are not valid are rejected with the reason", async () => {
    const rule = { outcome: { error: 40404 as ErrorCode } };
    const error = await sandbox.force(rule).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SandboxControlError);
    expect(error).toBeInstanceOf(SandboxError);
    expect(error).toMatchObject({ status: 400, message: expect.stringContaining("error") });
  });
});

test("resources of another contract are found by ids of any text, and listed page by page", async () => {
  const flags = ["--contract", contractFile("codes.yaml")];
  await using parts = await startSandbox<Record<string, unknown>>({ flags });
  const codes = Array.from({ length: 1_001 }, (_, index) => `a/b ${1_000 + index}?&%`);
  for (const code of codes) await parts.add({ code, name: "Screw" });
  expect((await parts.resources()).map(({ code }) => code)).toEqual(codes);
  expect(await parts.resource(codes[7] as string)).toEqual({ code: codes[7], name: "Screw" });
  expect(await parts.resource("none")).toBeUndefined();
});

test("seeds, resources and rules of a collection with ids of text are as those of plants", async () => {
  interface Member {
    readonly id: string;
    readonly name: string;
  }
  const [ada, grace] = ["Ada", "Grace"].map((name) => ({ id: crypto.randomUUID(), name })) as [
    Member,
    Member,
  ];
  const flags = ["--contract", contractFile("members.yaml")];
  await using members = await startSandbox<Member>({ seed: [ada], flags });
  expect(members.resourcesUrl).toBe(`${members.url}/members`);
  const collection = members.collection<Member>("members");
  expect(await collection.add(grace)).toEqual(grace);
  expect(await collection.resource(grace.id.toUpperCase())).toEqual(grace);
  await collection.force({ match: { id: grace.id }, outcome: { error: 50300 } });
  const rules = await members.rules();
  expect(rules).toMatchObject([{ match: { id: grace.id, collection: "members" } }]);
  await members.setRules(rules, { seed: 7 });
  const headers = { Authorization: "Bearer sandbox" };
  expect((await fetch(`${members.resourcesUrl}/${grace.id}`, { headers })).status).toBe(503);
  await members.reset();
  expect([await members.resources(), await members.rules()]).toEqual([[ada], []]);
});

test("tokens expire by the clock, and are revoked", async () => {
  const token = await sandbox.createToken({ name: "ci", expiresInSeconds: 3600 });
  const status = async () => (await post({ url: sandbox.url, token }, plantJson(1n, "other"))).status;
  expect(await status()).toBe(400);
  expect((await sandbox.setClock(3601)).offsetSeconds).toBe(3601);
  expect(await status()).toBe(401);
  await sandbox.setClock(0);
  expect(await status()).toBe(400);
  await sandbox.revokeToken("ci");
  expect(await status()).toBe(401);
});

describe("options", () => {
  test("the seeds as a file, the token and any flag can be given", async () => {
    using folder = new TemporaryFolder();
    writeFileSync(folder.file("plants.csv"), "id,name,tag\n9223372036854775807,Monstera,tropical\n");
    await using csv = await startSandbox({
      seed: folder.file("plants.csv"),
      flags: ["--token", "mine", "--body-bytes-max", "100"],
    });
    expect(await csv.resources()).toEqual([{ id: int64Max, name: "Monstera", tag: "tropical" }]);
    expect(csv.token).toBe("mine");
    expect((await post(csv, plantJson(1n, "Monstera"))).status).toBe(200);
    expect((await post(csv, plantJson(2n, "Monstera".repeat(100)))).status).toBe(413);
    expect((await post({ url: csv.url, token: "sandbox" }, plantJson(1n, "Monstera"))).status).toBe(401);
  });

  test("settings of the environment have no effect", async () => {
    process.env.PLANTSTORE_DATABASE = "sqlite:/nowhere/plants.db";
    process.env.PLANTSTORE_SANDBOX_TOKEN = "another";
    try {
      await using other = await startSandbox();
      expect((await post({ url: other.url, token: "sandbox" }, plantJson(1n, "Monstera"))).status).toBe(200);
    } finally {
      delete process.env.PLANTSTORE_DATABASE;
      delete process.env.PLANTSTORE_SANDBOX_TOKEN;
    }
  });
});
