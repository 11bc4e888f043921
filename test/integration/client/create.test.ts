// Plants that the typed client creates, as the server stores them.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type NewPlant,
  PlantStoreClient,
  type PlantStoreClientOptions,
  PlantStoreError,
} from "../../../packages/client/src/index.ts";
import { type ClientTarget, rejectionOf, startClientTarget } from "../../support/client.ts";

describe("on a real server", () => {
  let target: ClientTarget;
  beforeAll(async () => {
    target = await startClientTarget();
  });
  afterAll(() => target[Symbol.asyncDispose]());

  test.each([
    [9007199254740993n, "9007199254740993"],
    [-9007199254740993n, "-9007199254740993"],
    [-9223372036854775808n, "-9223372036854775808"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [-0, "0"],
  ])("the id %p is stored as %s", async (id, digits) => {
    expect(await target.client().createPlant({ id, name: "Monstera" })).toEqual({ name: "Monstera" });
    expect(await target.stored(digits)).toBe(`{"id":${digits},"name":"Monstera"}\n`);
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
      [40009, { id: 141n, name: "not a Ficus" }],
      [40101, { id: 1n, name: "Monstera" }, { token: "pst_unknown" }],
    ];
    for (const [code, plant, options] of rejections) {
      const error = await rejectionOf(target.client(options).createPlant(plant));
      expect(error).toBeInstanceOf(PlantStoreError);
      expect(error).toMatchObject({ code, message: expect.stringMatching(/^.{20,}$/s) });
    }
  });
});

test("a base URL may have a path, and end in a slash", async () => {
  await using target = await startClientTarget("--base-path", "/garden/v1");
  const baseUrl = `${target.server.url}/`;
  expect(new URL(baseUrl).pathname).toBe("/garden/v1/");
  expect(await target.client({ baseUrl }).createPlant({ id: 1, name: "Monstera" })).toEqual({
    name: "Monstera",
  });
});

test("a redirect is not followed", async () => {
  let requests = 0;
  const fetch = ({ url }: Request) => {
    requests++;
    return Response.redirect(`${url}/elsewhere`, 307);
  };
  await using proxy = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch });
  const client = new PlantStoreClient({ baseUrl: proxy.url, token: "pst_x" });
  expect(await rejectionOf(client.createPlant({ id: 1, name: "Monstera" }))).toMatchObject({ status: 307 });
  expect(requests).toBe(1);
});
