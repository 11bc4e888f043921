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

describe("requests", () => {
  test("are returned as they arrived and as they were answered, after a number, with their bytes", async () => {
    await create(2n, "Monstera");
    await create(2n, "other");
    const [first, second, ...others] = await sandbox.requests();
    if (first === undefined || second === undefined) throw new Error("There are no requests");
    expect(others).toEqual([]);
    expect(first).toMatchObject({
      request: { method: "POST", target: "/plants", version: "HTTP/1.1", body: plantJson(2n, "Monstera") },
      response: { status: 200, body: '{"name":"Monstera"}' },
      error: null,
      forced: null,
      ended: "complete",
    });
    expect(second).toMatchObject({ number: first.number + 1, response: { status: 400 }, error: 40009 });
    expect(await sandbox.requests({ after: first.number })).toEqual([second]);
  });

  test("of many pages are returned in one list", async () => {
    const last = (await sandbox.requests()).at(-1)?.number ?? 0;
    await Promise.all(Array.from({ length: 1_200 }, (_, index) => create(BigInt(index + 10), "Monstera")));
    expect(await sandbox.requests({ after: last, waitSeconds: 30 })).toHaveLength(1_200);
    expect(await sandbox.resources()).toHaveLength(1_200 + seeds.length);
  });
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

describe("of another contract", () => {
  interface Member {
    readonly id: string;
    readonly name: string;
    readonly level?: number;
    readonly address?: { readonly city: string };
  }

  const ids = ["0190a1b2-0000-7000-8000-000000000001", "0190a1b2-0000-7000-8000-000000000002"] as const;
  const member: Member = { id: ids[0], name: "Ada", level: 3, address: { city: "London" } };

  test("whose ids are UUIDs, seeds, resources and rules are as those of plants", async () => {
    const flags = ["--contract", contractFile("members.yaml")];
    await using members = await startSandbox<Member>({ seed: [member], flags });
    const invite = async (name: string) => {
      const headers = { Authorization: "Bearer sandbox", "Content-Type": "application/json" };
      const body = JSON.stringify({ name });
      return (await fetch(members.resourcesUrl, { method: "POST", headers, body })).status;
    };
    expect(await members.resources()).toEqual([member]);
    const added = { id: ids[1], name: "Grace" };
    expect(await members.add(added)).toEqual(added);
    expect(await members.resources()).toEqual([member, added]);
    expect(await members.resource(ids[1].toUpperCase())).toEqual(added);
    expect(await members.resource(crypto.randomUUID())).toBeUndefined();

    const conditions = [{ id: ids[1] }, { name: "Alan" }, { body: { level: 7 } }] as const;
    for (const match of conditions) await members.force({ match, outcome: { error: 50300 } });
    const rules = await members.rules();
    expect(rules.map(({ match }) => match)).toEqual(conditions.toReversed());
    await members.setRules(rules);
    expect([await invite("Alan"), await invite("Barbara")]).toEqual([503, 201]);
    const headers = { Authorization: "Bearer sandbox" };
    expect((await fetch(`${members.resourcesUrl}/${ids[1]}`, { headers })).status).toBe(503);
    const last = (await members.requests()).at(-1);
    expect(last?.request.target).toBe(`/members/${ids[1]}`);
    await members.reset();
    expect(await members.resources()).toEqual([member]);
  });

  test("whose ids are any texts, they are found and listed page by page", async () => {
    const flags = ["--contract", contractFile("codes.yaml")];
    await using parts = await startSandbox<Record<string, unknown>>({ flags });
    const codes = Array.from({ length: 1_001 }, (_, index) => `a/b ${1_000 + index}?&%`);
    for (const code of codes) await parts.add({ code, name: "Screw" });
    expect((await parts.resources()).map(({ code }) => code)).toEqual(codes);
    expect(await parts.resource(codes[7] as string)).toEqual({ code: codes[7], name: "Screw" });
  });
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

  test("the base URL is that of the service also where another contract has another path", async () => {
    await using parcels = await startSandbox({ flags: ["--contract", contractFile("parcels.yaml")] });
    expect(parcels.url).toBe(`${new URL(parcels.url).origin}/v2`);
    expect(parcels.resourcesUrl).toBe(`${parcels.url}/parcels`);
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
