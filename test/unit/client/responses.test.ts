// The client with responses that the test gives in place of a network: what it sends and what it
// does not, its errors, and its retries.

import { describe, expect, test } from "bun:test";
import {
  type NewPlant,
  PlantStoreClient,
  type PlantStoreClientOptions,
  PlantStoreError,
  PlantStoreInvalidResponseError,
} from "../../../packages/client/src/index.ts";
import { parseRetryAfter, retryDelayMs } from "../../../packages/client/src/retry.ts";
import { errorRegistry } from "../../../src/core/contract/errors.ts";

const plant = { id: 1n, name: "Monstera" };
const busy = '{"error":50300,"message":"The server is overloaded."}';
const created = ['{"name":"Monstera"}'] as const;

type Canned = readonly [body: string, init?: ResponseInit];

/** A client that gets these responses one after another, the last one again and again. */
class CannedClient extends PlantStoreClient {
  readonly attempts: { count: number };

  constructor(responses: readonly Canned[], options: Partial<PlantStoreClientOptions> = {}) {
    const attempts = { count: 0 };
    super({
      baseUrl: "http://plants.example",
      token: "pst_x",
      backoffMs: 0,
      ...options,
      fetch: async () => {
        const [body, init] = responses[Math.min(attempts.count++, responses.length - 1)] ?? [""];
        return new Response(body === "" ? null : body, init);
      },
    });
    this.attempts = attempts;
  }

  rejection(newPlant: NewPlant = plant, signal?: AbortSignal): Promise<unknown> {
    return this.createPlant(newPlant, { signal }).catch((error: unknown) => error);
  }
}

describe("nothing is sent", () => {
  test.each([2 ** 53, -(2 ** 53), 1.5, Number.NaN, Number.POSITIVE_INFINITY, "1", null, undefined])(
    "for the id %p, which is a TypeError",
    async (id) => {
      const client = new CannedClient([created]);
      const error = await client.rejection({ id, name: "Monstera" } as NewPlant);
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).toContain('"id" must be a bigint or a safe integer');
      expect(client.attempts.count).toBe(0);
    },
  );

  test.each(["", "two words", "line\nend", "naïve"])(
    "with the token %p, which is a TypeError",
    async (token) => {
      const client = new CannedClient([created], { token });
      expect(await client.rejection()).toBeInstanceOf(TypeError);
      expect(client.attempts.count).toBe(0);
    },
  );

  test("if the token function throws: createPlant rejects with its error", async () => {
    const failure = new Error("no token today");
    const client = new CannedClient([created], { token: () => Promise.reject(failure) });
    expect(await client.rejection()).toBe(failure);
    expect(client.attempts.count).toBe(0);
  });

  test("if the signal is aborted", async () => {
    const client = new CannedClient([created]);
    expect(await client.rejection(plant, AbortSignal.abort("changed my mind"))).toBe("changed my mind");
    expect(client.attempts.count).toBe(0);
  });
});

test.each<[name: string, wrong: Partial<PlantStoreClientOptions>]>([
  ["baseUrl", { baseUrl: "127.0.0.1:8080" }],
  ["baseUrl", { baseUrl: "ftp://plants.example" }],
  ["baseUrl", { baseUrl: "https://plants.example?token=x" }],
  ["baseUrl", { baseUrl: "https://me:secret@plants.example" }],
  ["token", { token: undefined as unknown as string }],
  ["onRetry", { onRetry: "log" as never }],
  ["attemptTimeoutMs", { attemptTimeoutMs: 0 }],
  ["timeoutMs", { timeoutMs: 2 ** 31 }],
  ["maxRetries", { maxRetries: 1.5 }],
  ["backoffMs", { backoffMs: -1 }],
  ["maxBackoffMs", { maxBackoffMs: Number.NaN }],
])("a %s that cannot be right is refused at once, by its name", (name, wrong) => {
  const make = () => new PlantStoreClient({ baseUrl: "http://127.0.0.1:8080", token: "pst_x", ...wrong });
  expect(make).toThrow(new RegExp(`^${name} must`));
});

test.each(Object.values(errorRegistry))("$error is a PlantStoreError with this code", async ({ error }) => {
  const status = Math.trunc(error / 100);
  const client = new CannedClient([[JSON.stringify({ error, message: "No." }), { status }]], {
    maxRetries: 1,
  });
  const rejection = await client.rejection();
  expect(rejection).toBeInstanceOf(PlantStoreError);
  expect(rejection).toMatchObject({ name: "PlantStoreError", code: error, status, message: "No." });
  expect((rejection as PlantStoreError).retryAfterMs).toBeUndefined();
  expect(client.attempts.count).toBe([408, 429, 503].includes(status) ? 2 : 1);
});

describe("a response that is not the Plant Store's", () => {
  const html = { headers: { "Content-Type": "text/html" } };
  test.each<[what: string, body: string, init: ResponseInit, says: string]>([
    [
      "an HTML page with 200",
      "<html>Sign in</html>",
      { ...html, status: 200 },
      "status 200 with text/html that is not a Plant",
    ],
    ["an HTML page with 404", "<html>Not found</html>", { ...html, status: 404 }, '"<html>Not found</html>"'],
    ["JSON that is not a Plant", '{"id":1}', { status: 200 }, "not a Plant"],
    ["a Plant whose tag is null", '{"name":"x","tag":null}', { status: 200 }, "not a Plant"],
    ["a Plant with 201", '{"name":"x"}', { status: 201 }, "status 201"],
    ["an error that is not an integer", '{"error":"x","message":"x"}', { status: 400 }, "not an Error"],
    ["a redirect", "", { status: 307, headers: { Location: "/" } }, "is a redirect (status 307)"],
    ["a megabyte of noise", "x".repeat(2 ** 20), { status: 418 }, "x…"],
  ])("%s is an error with the start of the body, and is not retried", async (_, body, init, says) => {
    const client = new CannedClient([[body, init]]);
    const error = await client.rejection();
    expect(error).toBeInstanceOf(PlantStoreInvalidResponseError);
    expect(error).toMatchObject({ name: "PlantStoreInvalidResponseError", status: init.status });
    expect((error as Error).message).toContain(says);
    expect((error as Error).message.length).toBeLessThan(400);
    expect(client.attempts.count).toBe(1);
  });
});

describe("a retry", () => {
  test.each([408, 429, 502, 503, 504])("follows a proxy's page with %d", async (status) => {
    const client = new CannedClient([["<html>", { status }], created]);
    expect(await client.createPlant(plant)).toEqual({ name: "Monstera" });
    expect(client.attempts.count).toBe(2);
  });

  test("does not follow where onRetry throws: createPlant rejects with its error", async () => {
    const enough = new Error("enough");
    const client = new CannedClient([[busy, { status: 503 }], created], {
      onRetry: () => {
        throw enough;
      },
    });
    expect(await client.rejection()).toBe(enough);
    expect(client.attempts.count).toBe(1);
  });

  test("does not follow a Retry-After beyond the deadline", async () => {
    const client = new CannedClient([[busy, { status: 503, headers: { "Retry-After": "3600" } }], created]);
    const error = await client.rejection();
    expect(error).toBeInstanceOf(PlantStoreError);
    expect((error as PlantStoreError).retryAfterMs).toBeGreaterThan(3_500_000);
    expect(client.attempts.count).toBe(1);
  });
});

test("an abort during a delay rejects immediately, and nothing more is sent", async () => {
  const controller = new AbortController();
  const later = { status: 503, headers: { "Retry-After": "30" } };
  const client = new CannedClient([[busy, later], created], {
    onRetry: () => queueMicrotask(() => controller.abort()),
  });
  expect(await client.rejection(plant, controller.signal)).toBe(controller.signal.reason);
  expect(client.attempts.count).toBe(1);
});

describe("the delay", () => {
  const pace = { backoffMs: 100, maxBackoffMs: 1_000 };
  const longest = (tries: number, retryAfterMs?: number) =>
    retryDelayMs(tries, retryAfterMs, { ...pace, random: () => 1 });

  test("doubles for each retry up to its limit, for any number of retries", () => {
    expect([1, 2, 3, 4, 5, 6, 5_000].map((tries) => longest(tries))).toEqual([
      100, 200, 400, 800, 1_000, 1_000, 1_000,
    ]);
  });

  test("is between 0 and that limit, by the random source", () => {
    expect(retryDelayMs(3, undefined, { ...pace, random: () => 0 })).toBe(0);
    expect(retryDelayMs(3, undefined, { ...pace, random: () => 0.25 })).toBe(100);
  });

  test("is at least Retry-After", () => {
    expect(retryDelayMs(3, 2_500, { ...pace, random: () => 0 })).toBe(2_500);
    expect(longest(3, 2_500)).toBe(2_900);
  });
});

test.each<[value: string, ms: number | undefined]>([
  ["0", 0],
  ["120", 120_000],
  ["Fri, 31 Dec 1999 23:59:59 GMT", undefined],
  ["-1", undefined],
  ["2.5", undefined],
  ["soon", undefined],
])("Retry-After: %s is read as %p milliseconds", (value, ms) => {
  expect(parseRetryAfter(new Headers({ "Retry-After": value }))).toBe(ms);
});
