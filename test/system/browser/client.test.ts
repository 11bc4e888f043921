// The client's bundle in a page of another origin in Chromium, which sends a CORS preflight before
// the token and the Idempotency-Key.

import { afterAll, expect, test } from "bun:test";
import type * as Client from "../../../packages/client/src/index.ts";
import { TestBrowser } from "../../support/browser.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { RunningServer } from "../../support/server.ts";

const browser = new TestBrowser();
afterAll(() => browser[Symbol.asyncDispose]());

declare global {
  var client: typeof Client;
}

/** The entry point of the bundle. */
const entry = new URL("../../../packages/client/src/index.ts", import.meta.url).pathname;

test("a page of another origin creates parcels with exact ids, and keeps to Retry-After", async () => {
  const args = ["--contract", contractFile("parcels.yaml"), "--token-rate", "2"];
  await using server = await RunningServer.startInProcess({ args });
  const token = await server.createToken();
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
  await browser.visit(pages.url.href, { expectedFaults: [/status of 429/] }, async (page) => {
    await page.waitForFunction(() => globalThis.client !== undefined);
    const options = { url: `${server.url}/parcels`, token };
    const results = await page.evaluate(async ({ url, token }) => {
      const { createFetch, stringifyExact } = globalThis.client;
      const create = async (id: number | bigint, attempts: number) => {
        const response = await createFetch({ attempts })(url, {
          method: "POST",
          headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
          body: stringifyExact({ id, sender: "Ada 🌱", fragile: true }),
        });
        return { status: response.status, retryAfter: response.headers.get("retry-after"), response };
      };
      const created = await create(9007199254740993n, 8);
      const parcel = (await created.response.json()) as { id: bigint };
      let refused = await create(1, 1);
      while (refused.status !== 429) refused = await create(1, 1);
      return {
        created: [created.status, typeof parcel.id, String(parcel.id)],
        // The page must be allowed to read Retry-After.
        refused: refused.retryAfter,
        retried: (await create(-1, 8)).status,
      };
    }, options);
    expect(results).toEqual({ created: [201, "bigint", "9007199254740993"], refused: "1", retried: 201 });
  });
});
