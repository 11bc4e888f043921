// Plants that the typed client creates, as the server stores them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  type NewPlant,
  PlantStoreClient,
  type PlantStoreClientOptions,
  PlantStoreError,
} from "../../../packages/client/src/index.ts";
import { newPlantJson } from "../../../src/core/contract/plant.ts";
import { type ClientTarget, rejectionOf, startClientTarget } from "../../support/client.ts";
import { anyNewPlant } from "../../support/random.ts";
import { exported } from "../../support/stored-plants.ts";

describe("on a real server", () => {
  let target: ClientTarget;
  beforeAll(async () => {
    target = await startClientTarget();
  });
  afterAll(() => target[Symbol.asyncDispose]());

  test.each([
    [9007199254740993n, "9007199254740993"],
    [-9007199254740993n, "-9007199254740993"],
    [9223372036854775807n, "9223372036854775807"],
    [-9223372036854775808n, "-9223372036854775808"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [Number.MIN_SAFE_INTEGER, "-9007199254740991"],
    [7n, "7"],
    [-0, "0"],
  ])("the id %p is stored as %s", async (id, digits) => {
    expect(await target.client().createPlant({ id, name: "Monstera" })).toEqual({ name: "Monstera" });
    expect(await target.stored(digits)).toBe(`{"id":${digits},"name":"Monstera"}\n`);
  });

  test("any valid plant is returned and stored exactly", async () => {
    await using empty = await startClientTarget();
    const client = empty.client();
    const sent = new Map<bigint, string>();
    await fc.assert(
      fc.asyncProperty(anyNewPlant, async (newPlant) => {
        const { id, ...plant } = newPlant;
        fc.pre(!sent.has(id));
        expect(await client.createPlant(newPlant)).toEqual(plant);
        sent.set(id, newPlantJson(newPlant));
      }),
      // Shrinking would send other plants with ids that are taken.
      { numRuns: 200, endOnFailure: true },
    );
    const stored = (await exported(empty.server.database)).trimEnd().split("\n");
    expect(stored.toSorted()).toEqual([...sent.values()].toSorted());
  });

  test("a plant without a tag, or with undefined, has none; an empty tag is a tag", async () => {
    const client = target.client();
    expect(await client.createPlant({ id: 101, name: "" })).toEqual({ name: "" });
    expect(Object.keys(await client.createPlant({ id: 102, name: "Ficus", tag: undefined }))).toEqual([
      "name",
    ]);
    expect(await client.createPlant({ id: 103, name: "Ficus", tag: "" })).toEqual({ name: "Ficus", tag: "" });
    expect(await target.stored("102")).toBe('{"id":102,"name":"Ficus"}\n');
    expect(await target.stored("103")).toBe('{"id":103,"name":"Ficus","tag":""}\n');
  });

  test("what it rejects is a PlantStoreError with its code and its message", async () => {
    await target.client().createPlant({ id: 141n, name: "Ficus" });
    const rejections: [code: number, plant: NewPlant, options?: Partial<PlantStoreClientOptions>][] = [
      [40002, { id: 2n ** 63n, name: "Monstera" }],
      [40002, { id: 1n } as NewPlant],
      [40003, { id: 1n, name: "Monstera", tag: "\ud800" }],
      [40009, { id: 141n, name: "not a Ficus" }],
      [40101, { id: 1n, name: "Monstera" }, { token: "pst_unknown" }],
      [40400, { id: 1n, name: "Monstera" }, { baseUrl: `${target.server.url}/nowhere` }],
      [41300, { id: 1n, name: "x".repeat(2 ** 20) }],
    ];
    for (const [code, plant, options] of rejections) {
      const error = await rejectionOf(target.client(options).createPlant(plant));
      expect(error).toBeInstanceOf(PlantStoreError);
      expect(error).toMatchObject({ code, message: expect.stringMatching(/^.{20,}$/s) });
    }
  });

  test.each(["", "/", "//"])("a base address may end in %p", async (ending) => {
    const client = target.client({ baseUrl: `${target.server.url}${ending}` });
    expect(await client.createPlant({ id: 131, name: "Monstera" })).toEqual({ name: "Monstera" });
  });
});

test("a base URL may have a path", async () => {
  await using target = await startClientTarget("--base-path", "/garden/v1");
  expect(new URL(target.server.url).pathname).toBe("/garden/v1");
  expect(await target.client().createPlant({ id: 1, name: "Monstera" })).toEqual({ name: "Monstera" });
});

test("a redirect is not followed", async () => {
  let requests = 0;
  await using proxy = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: ({ url }) => {
      requests++;
      return Response.redirect(`${url}/elsewhere`, 307);
    },
  });
  const client = new PlantStoreClient({ baseUrl: proxy.url, token: "pst_x" });
  const error = await rejectionOf(client.createPlant({ id: 1, name: "Monstera" }));
  expect(error).toMatchObject({ name: "PlantStoreInvalidResponseError", status: 307 });
  expect(requests).toBe(1);
});
