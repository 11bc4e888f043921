// The client's typed errors for every error of the server, and for responses that are not the
// server's.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  type NewPlant,
  PlantStoreClient,
  type PlantStoreClientOptions,
  PlantStoreError,
  PlantStoreInvalidResponseError,
} from "../../../packages/client/src/index.ts";
import { errorRegistry } from "../../../src/core/contract/errors.ts";
import { type ClientTarget, rejectionOf, startClientTarget } from "../../support/client.ts";
import { eventually } from "../../support/eventually.ts";
import { CannedListener } from "./listeners.ts";

const plant = { id: 1n, name: "Monstera" };

/** The request that the client makes, changed on its way: what the client itself never sends. */
function changed(change: RequestInit): Partial<PlantStoreClientOptions> {
  return { fetch: (url, init) => fetch(url, { ...init, ...change }) };
}

describe("a real server's", () => {
  let target: ClientTarget;
  beforeAll(async () => {
    target = await startClientTarget();
    await target.client().createPlant({ id: 2n, name: "Ficus" });
  });
  afterAll(() => target[Symbol.asyncDispose]());

  const refusals: [code: number, newPlant: NewPlant, options: () => Partial<PlantStoreClientOptions>][] = [
    [40001, plant, () => changed({ body: "{" })],
    [40002, { id: 2n ** 63n, name: "Monstera" }, () => ({})],
    [40002, { id: 1n, name: 7 as unknown as string }, () => ({})],
    [40002, { id: 1n } as NewPlant, () => ({})],
    [40003, { id: 1n, name: "a\0b" }, () => ({})],
    [40003, { id: 1n, name: "Monstera", tag: "\ud800" }, () => ({})],
    [40009, { id: 2n, name: "not a Ficus" }, () => ({})],
    [40100, plant, () => changed({ headers: {} })],
    [40101, plant, () => ({ token: "pst_unknown" })],
    [40400, plant, () => ({ baseUrl: `${target.server.url}/nowhere` })],
    [40500, plant, () => changed({ method: "PUT" })],
    [41300, { id: 1n, name: "x".repeat(2 ** 20) }, () => ({})],
    [
      41500,
      plant,
      () => changed({ headers: { Authorization: `Bearer ${target.token}`, "Content-Type": "text/plain" } }),
    ],
  ];
  test.each(refusals)(
    "%d is a PlantStoreError with that code, and is not retried",
    async (code, newPlant, options) => {
      let requests = 0;
      const { fetch: send = fetch, ...others } = options();
      const client = target.client({
        ...others,
        fetch: (url, init) => {
          requests++;
          return send(url, init);
        },
      });
      const error = await rejectionOf(client.createPlant(newPlant));
      expect(error).toBeInstanceOf(PlantStoreError);
      expect(error).toMatchObject({ name: "PlantStoreError", code, status: Math.trunc(code / 100) });
      expect((error as PlantStoreError).message.length).toBeGreaterThan(20);
      expect((error as PlantStoreError).retryAfterMs).toBeUndefined();
      expect(requests).toBe(1);
    },
  );

  test("40800 is retried", async () => {
    await using slow = await startClientTarget("--arrival-seconds-max", "1");
    let requests = 0;
    const client = slow.client({
      fetch: (url, init) => {
        requests++;
        // The first body never ends.
        return requests === 1 ? fetch(url, { ...init, body: new ReadableStream() }) : fetch(url, init);
      },
    });
    expect(await client.createPlant(plant)).toEqual({ name: "Monstera" });
    expect(requests).toBe(2);
  });

  test("all codes are covered but 40000, which fetch cannot cause, and 50000, which no client can", () => {
    const seen = new Set([...refusals.map(([code]) => code), 40800, 42900, 50300]);
    const all = Object.values(errorRegistry).map(({ error }): number => error);
    expect(all.filter((code) => !seen.has(code))).toEqual([40000, 50000]);
  });
});

test("50000 is a PlantStoreError too, and is not retried", async () => {
  using listener = new CannedListener(['{"error":50000,"message":"The service failed."}', { status: 500 }]);
  const client = listener.client();
  const error = await rejectionOf(client.createPlant(plant));
  expect(error).toMatchObject({ name: "PlantStoreError", code: 50000, message: "The service failed." });
  expect(listener.requests).toBe(1);
});

const html = { headers: { "Content-Type": "text/html" } };

test.each<[what: string, body: string, init: ResponseInit, says: string]>([
  [
    "an HTML page with 200",
    "<html>Sign in</html>",
    { ...html, status: 200 },
    "status 200 with text/html that is not a Plant",
  ],
  ["an HTML page with 404", "<html>Not found</html>", { ...html, status: 404 }, '"<html>Not found</html>"'],
  ["an empty 200", "", { status: 200 }, "with no Content-Type that is not a Plant"],
  ["JSON that is not a Plant", '{"id":1}', { status: 200 }, "not a Plant"],
  ["a Plant whose tag is null", '{"name":"x","tag":null}', { status: 200 }, "not a Plant"],
  ["an Error with 200", '{"error":40001,"message":"x"}', { status: 200 }, "not a Plant"],
  ["a Plant with 201", '{"name":"x"}', { status: 201 }, "status 201"],
  ["JSON null", "null", { status: 400 }, "not an Error"],
  ["an error that is not an integer", '{"error":"x","message":"x"}', { status: 400 }, "not an Error"],
  ["a 204", "", { status: 204 }, "status 204"],
  [
    "a redirect",
    "",
    { status: 307, headers: { Location: "http://127.0.0.1:9/" } },
    "is a redirect (status 307)",
  ],
  ["a megabyte of noise", "x".repeat(2 ** 20), { status: 418 }, "x…"],
])(
  "%s is a PlantStoreInvalidResponseError with the start of the body, and is not retried",
  async (_, body, init, says) => {
    using listener = new CannedListener([body, init]);
    const client = listener.client();
    const error = await rejectionOf(client.createPlant(plant));
    expect(error).toBeInstanceOf(PlantStoreInvalidResponseError);
    expect(error).toMatchObject({ name: "PlantStoreInvalidResponseError", status: init.status });
    expect((error as PlantStoreInvalidResponseError).message).toContain(says);
    expect((error as PlantStoreInvalidResponseError).message.length).toBeLessThan(400);
    expect(listener.requests).toBe(1);
  },
);

test("a response without an end is a PlantStoreInvalidResponseError, and is not read on", async () => {
  let isCancelled = false;
  using listener = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
          cancel() {
            isCancelled = true;
          },
        }),
      ),
  });
  const client = new PlantStoreClient({ baseUrl: listener.url, token: "pst_x" });
  const error = await rejectionOf(client.createPlant(plant));
  expect(error).toMatchObject({ name: "PlantStoreInvalidResponseError", status: 200 });
  expect((error as Error).message).toContain("status 200 with over 1048");
  await eventually("the body is cancelled", () => isCancelled);
});

test("a plant whose JSON is six times as long as it was sent is read", async () => {
  const name = "é".repeat(500_000);
  const body = `{"name":"${"\\u00e9".repeat(500_000)}"}`;
  using listener = new CannedListener([body, { status: 200 }]);
  const client = listener.client();
  expect(await client.createPlant({ id: 1n, name })).toEqual({ name });
});
