// The client's bundle in a page of another origin in Chromium, which sends a CORS preflight before
// the token.

import { afterAll, expect, test } from "bun:test";
import type * as Client from "../../../packages/client/src/index.ts";
import { TestBrowser } from "../../support/browser.ts";
import { startClientTarget } from "../../support/client.ts";

const browser = new TestBrowser();
afterAll(() => browser[Symbol.asyncDispose]());

declare global {
  var client: typeof Client;
}

/** The entry point of the bundle. */
const entry = new URL("../../../packages/client/src/index.ts", import.meta.url).pathname;

test("a page of another origin creates plants with exact ids, and reads errors and Retry-After", async () => {
  await using target = await startClientTarget("--token-rate", "2");
  const built = await Bun.build({ entrypoints: [entry], target: "browser", minify: true });
  const bundle = (await built.outputs[0]?.text()) ?? "";
  using pages = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: ({ url }) =>
      new URL(url).pathname === "/client.js"
        ? new Response(bundle, { headers: { "Content-Type": "text/javascript" } })
        : new Response(
            '<!doctype html><link rel="icon" href="data:,"><script type="module">import * as c from "./client.js"; globalThis.client = c;</script>',
            { headers: { "Content-Type": "text/html" } },
          ),
  });
  const expectedFaults = [/status of 400/, /status of 401/, /status of 429/];
  await browser.visit(pages.url.href, { expectedFaults }, async (page) => {
    await page.waitForFunction(() => globalThis.client !== undefined);
    const options = { baseUrl: target.server.url, token: target.token };
    const results = await page.evaluate(async (options) => {
      const { PlantStoreClient, PlantStoreError } = globalThis.client;
      const client = new PlantStoreClient(options);
      const codeOf = (error: unknown) => (error instanceof PlantStoreError ? error.code : String(error));
      const once = new PlantStoreClient({ ...options, maxRetries: 0 });
      const plant = { id: 9007199254740993n, name: "Monstera 🌱", tag: "tropical" };
      const tooManyRequests = async () => {
        for (;;) {
          try {
            await once.createPlant(plant);
          } catch (error) {
            return error instanceof PlantStoreError ? [error.code, error.retryAfterMs] : String(error);
          }
        }
      };
      return {
        created: await client.createPlant(plant),
        conflict: await client.createPlant({ ...plant, name: "other" }).catch(codeOf),
        unauthorized: await new PlantStoreClient({ ...options, token: "pst_none" })
          .createPlant(plant)
          .catch(codeOf),
        // The page must be allowed to read Retry-After.
        tooManyRequests: await tooManyRequests(),
        // A client with retries waits, and succeeds.
        retried: await client.createPlant({ id: -1, name: "Ficus" }),
      };
    }, options);
    const plant = { name: "Monstera 🌱", tag: "tropical" };
    expect(results).toEqual({
      created: plant,
      conflict: 40009,
      unauthorized: 40101,
      tooManyRequests: [42900, 1_000],
      retried: { name: "Ficus" },
    });
    expect(await target.stored("9007199254740993")).toStartWith('{"id":9007199254740993,');
  });
});
