// A sandbox of a description with several collections, and of one without any.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { type Sandbox, startSandbox } from "../../../packages/sandbox/src/index.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { type Answer, send } from "../../support/http.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { run, TemporaryFolder } from "../../support/server.ts";

const courierId = "0190b3a4-2a1b-7c3d-8e4f-5a6b7c8d9e0f";
const parcel = { id: 1n, sender: "Ada", weight: 1.5, status: "new" };

interface Parcel {
  readonly id: bigint;
  readonly sender: string;
}

interface Courier {
  readonly courierId: string;
  readonly name: string;
}

const folder = new TemporaryFolder();
afterAll(() => folder[Symbol.dispose]());

describe("of three collections", () => {
  let sandbox: Sandbox<Parcel>;
  beforeAll(async () => {
    sandbox = await startSandbox<Parcel>({
      flags: ["--contract", contractFile("estate.yaml"), "--seed", "examples"],
    });
  });
  beforeEach(() => sandbox.reset());
  afterAll(() => sandbox.close());

  const request = (method: string, path: string, body?: string): Promise<Answer> =>
    send(sandbox.url + path, {
      method,
      headers: { Authorization: "Bearer sandbox", "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body }),
    });
  const control = async (path: string, init?: RequestInit) =>
    send(`${sandbox.adminUrl}/sandbox${path}`, init);

  test("control has each of them, with the examples as seeds", async () => {
    const collections = ["parcels", "couriers", "special-events"].map((name) => ({
      name,
      url: `${sandbox.url}/${name}`,
      resources: 1,
    }));
    expect((await control("")).json).toMatchObject({
      resourcesUrl: `${sandbox.url}/parcels`,
      resources: 3,
      collections,
    });
    expect((await control(`/couriers/${courierId}`)).json).toEqual({ courierId, name: "Grace" });
    expect((await control("/special-events")).json).toMatchObject({
      resources: [{ eventName: "Pirate workshop", location: "Computer room" }],
      next: null,
    });
    expect((await control("/plants")).json).toEqual({
      message: "There is nothing at /sandbox/plants; GET /sandbox/openapi.json lists what there is.",
    });
  });

  test("resources of one are not those of another, and a reset brings back all", async () => {
    const couriers = sandbox.collection<Courier>("couriers");
    expect(await sandbox.resources()).toEqual([parcel]);
    expect(await sandbox.collection<Parcel>("parcels").resources()).toEqual([parcel]);
    expect(await sandbox.add({ id: 7, sender: "Joan" })).toEqual({ id: 7n, sender: "Joan" });
    const own = { courierId: courierId.replace("f", "0"), name: "Barbara" };
    expect(await couriers.add(own)).toEqual(own);
    expect(await couriers.resource(own.courierId)).toEqual(own);
    expect((await request("GET", `/couriers/${own.courierId}`)).json).toEqual(own);
    expect((await request("GET", "/parcels/7")).status).toBe(200);
    expect(await sandbox.collection("special-events").resource(7)).toBeUndefined();
    await sandbox.reset();
    expect([await sandbox.resources(), await couriers.resources()].map(({ length }) => length)).toEqual([
      1, 1,
    ]);
  });

  test("a rule is for all requests, or for those of one collection", async () => {
    const couriers = sandbox.collection<Courier>("couriers");
    const statuses = async () => [
      (await request("GET", "/parcels")).status,
      (await request("GET", `/couriers/${courierId}`)).status,
      (await request("DELETE", "/couriers")).status,
      (await request("POST", "/search", '{"text":"a"}')).status,
    ];
    expect(await statuses()).toEqual([200, 200, 405, 200]);
    {
      await using _ = await couriers.force({ outcome: { error: 50300 } });
      expect(await statuses()).toEqual([200, 503, 503, 200]);
    }
    {
      await using _ = await sandbox.force({ outcome: { response: { status: 418 } } });
      expect(await statuses()).toEqual([418, 418, 418, 418]);
    }
    {
      const id = courierId.toUpperCase();
      await using _ = await couriers.force({ match: { id }, outcome: { error: 40400 } });
      expect(await statuses()).toEqual([200, 404, 405, 200]);
    }
    {
      await using _ = await sandbox.force({ match: { sender: "Joan" }, outcome: { error: 42900 } });
      expect((await request("POST", "/parcels", '{"id":7,"sender":"Joan"}')).status).toBe(429);
      const body = `{"courierId":"${courierId}","name":"Joan"}`;
      expect((await request("POST", "/couriers", body)).text).toContain("already holds a different courier");
    }
    expect(await statuses()).toEqual([200, 200, 405, 200]);
  });

  test("an error that a request asks for is one of its collection", async () => {
    const preferred = await send(`${sandbox.url}/couriers`, {
      method: "POST",
      headers: { Prefer: "code=429" },
    });
    expect([preferred.status, preferred.headers.get("preference-applied")]).toEqual([429, "code=429"]);
    expect(preferred.headers.get("retry-after")).not.toBeNull();
  });

  test("the log names the collection of a request", async () => {
    await request("GET", "/parcels?limit=1");
    await request("PUT", "/special-events/1", "{}");
    await request("PATCH", "/couriers");
    await request("POST", "/search", '{"text":"a"}');
    await request("GET", "/nothing");
    expect((await sandbox.requests()).map(({ collection }) => collection)).toEqual([
      "parcels",
      "special-events",
      "couriers",
      null,
      null,
    ]);
  });
});

test("a collection has a path of control whatever its name", async () => {
  const text = await Bun.file(contractFile("estate.yaml")).text();
  const renamed = text.replaceAll("/couriers", "/rules").replaceAll("/special-events", "/depots/parcels");
  writeFileSync(folder.file("renamed.yaml"), renamed);
  await using sandbox = await startSandbox({ flags: ["--contract", folder.file("renamed.yaml")] });
  const names = async () => {
    const { json } = await send(`${sandbox.adminUrl}/sandbox`);
    return (json as { collections: { name: string; resources: number }[] }).collections;
  };
  expect((await names()).map(({ name }) => name)).toEqual(["parcels", "/rules", "depots/parcels"]);
  await sandbox.collection<Courier>("/rules").add({ courierId, name: "Grace" });
  await sandbox.collection("depots/parcels").add({ eventId: 4, eventName: "a", location: "b" });
  expect((await names()).map(({ resources }) => resources)).toEqual([0, 1, 1]);
  expect(await sandbox.rules()).toEqual([]);
});

describe("seeds", () => {
  const sandboxArgs = ["sandbox", "--port", "0", "--admin-port", "0"];
  const failing = async (contract: string, seed: string) =>
    (await run([...sandboxArgs, "--contract", contractFile(contract), "--seed", seed])).stderr;

  test("of several collections are in a folder, in a file for each", async () => {
    mkdirSync(folder.file("seeds"));
    writeFileSync(folder.file("seeds/parcels.csv"), "id,sender\n9223372036854775807,Ada\n");
    writeFileSync(
      folder.file("seeds/special-events.ndjson"),
      '{"eventId":4,"eventName":"a","location":"b"}\n',
    );
    const flags = ["--contract", contractFile("estate.yaml")];
    await using sandbox = await startSandbox<Parcel>({ flags, seed: folder.file("seeds") });
    expect(await sandbox.resources()).toEqual([{ id: 2n ** 63n - 1n, sender: "Ada" }]);
    expect(await sandbox.collection("couriers").resources()).toEqual([]);
    expect(await sandbox.collection("special-events").resources()).toHaveLength(1);

    writeFileSync(folder.file("seeds/parcel.csv"), "id,sender\n");
    expect(await failing("estate.yaml", folder.file("seeds"))).toContain(
      "parcel.csv does not have the name of a collection, such as parcels.ndjson",
    );
    expect(await failing("estate.yaml", folder.file("seeds/parcels.csv"))).toContain(
      "the contract has several collections; name a folder with a file for each, such as parcels.ndjson",
    );
    expect(await failing("search.yaml", folder.file("seeds/parcels.csv"))).toContain(
      "the contract has no collection",
    );
  });
});

describe("without a collection", () => {
  test("it starts, responds as described, and has control", async () => {
    const args = ["--contract", contractFile("search.yaml"), "--seed", "examples"];
    await using sandbox = await RunningSandbox.startInProcess({ args });
    expect(sandbox.lines).toContain(`Interface      ${sandbox.url}`);
    expect((await send(`${sandbox.url}/hits?text=a`)).json).toEqual({ hits: 3 });
    expect((await send(`${sandbox.url}/hits`)).status).toBe(400);
    const notes = await send(`${sandbox.url}/notes`, {
      method: "POST",
      headers: { "Content-Type": "text/plain" },
      body: "a",
    });
    expect(notes.status).toBe(204);
    const sent = { headers: { Authorization: "Bearer sandbox" } };
    expect((await send(`${sandbox.url}/plants`, sent)).json).toEqual({
      error: 40400,
      message: "There is nothing at /v1/plants.",
    });
    expect((await send(`${sandbox.url}/openapi.json`)).json).toMatchObject({
      servers: [{ url: sandbox.url }],
      paths: { "/hits": {} },
    });
    const page = await fetch(`${sandbox.url}/`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("openapi.json")]);
    const state = (await sandbox.control("GET")).json;
    expect(state).toMatchObject({ resourcesUrl: sandbox.url, resources: 0n, collections: [] });
    expect((await sandbox.control("GET", "/plants")).json).toEqual({
      message: "There is nothing at /sandbox/plants; GET /sandbox/openapi.json lists what there is.",
    });
    await sandbox.control("POST", "/rules", { times: 1, outcome: { error: 50300 } });
    expect((await send(`${sandbox.url}/hits?text=a`)).status).toBe(503);
    expect((await sandbox.control("POST", "/reset")).status).toBe(204);
    expect((await send(`${sandbox.url}/hits?text=a`)).status).toBe(200);
  });

  // OpenAPI 3.1 requires one of paths, webhooks and components.
  test.each([
    ["webhooks", { webhooks: { hit: { post: { responses: { 204: { description: "Seen." } } } } } }],
    ["components", { components: { schemas: { Hit: { type: "object" } } } }],
    ["paths that are null", { paths: null }],
  ])("a description of nothing but %s is served, with its page", async (name, parts) => {
    const file = folder.file(`only ${name}.json`);
    const description = { openapi: "3.1.0", info: { title: "Hits", version: "1" }, ...parts };
    writeFileSync(file, JSON.stringify(description));
    const args = ["--contract", file, "--seed", "examples"];
    await using sandbox = await RunningSandbox.startInProcess({ args });
    const { paths: _, ...described } = parts as { readonly paths?: unknown };
    expect((await send(`${sandbox.url}/openapi.json`)).json).toMatchObject({ ...described, paths: {} });
    const page = await fetch(`${sandbox.url}/`);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining("<h1>Hits")]);
    const sent = { headers: { Authorization: "Bearer sandbox" } };
    expect((await send(`${sandbox.url}/hits`, sent)).status).toBe(404);
    expect((await sandbox.control("GET", "/openapi.json")).status).toBe(200);
    expect((await sandbox.control("POST", "/reset")).status).toBe(204);
  });

  test("a server and the kit say why there is none", async () => {
    const contract = ["--contract", contractFile("search.yaml")];
    const reason = "the contract cannot be served: the POST of /notes has no body of application/json";
    const serving = await run(["serve", "--database", `sqlite:${folder.file("none.db")}`, ...contract]);
    expect([serving.exitCode, serving.stderr]).toEqual([2, expect.stringContaining(reason)]);
    const checking = await run(["conformance", "--url", "http://127.0.0.1:1", ...contract]);
    expect([checking.exitCode, checking.stderr]).toEqual([2, expect.stringContaining(reason)]);
  });
});
