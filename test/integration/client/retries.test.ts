// Retries against servers that are really overloaded, rate-limited or gone for a while.

import { expect, test } from "bun:test";
import {
  PlantStoreClient,
  PlantStoreError,
  PlantStoreNetworkError,
  type RetryInfo,
} from "../../../packages/client/src/index.ts";
import { rejectionOf, startClientTarget } from "../../support/client.ts";
import { reservePort } from "../../support/ports.ts";
import { exported } from "../../support/stored-plants.ts";

test("42900 is retried after Retry-After, until every plant is stored", async () => {
  await using target = await startClientTarget("--token-rate", "3");
  const errors: unknown[] = [];
  const client = target.client({ onRetry: ({ error }) => errors.push(error), maxRetries: 100 });
  await Promise.all(Array.from({ length: 6 }, (_, id) => client.createPlant({ id, name: "Monstera" })));
  expect((await exported(target.server.database)).match(/"id":/g)).toHaveLength(6);
  expect(errors).not.toEqual([]);
  for (const error of errors) {
    expect(error).toBeInstanceOf(PlantStoreError);
    expect(error).toMatchObject({ code: 42900, status: 429, retryAfterMs: 1_000 });
  }
});

test("onRetry is called before each delay, with the error of the attempt", async () => {
  const port = reservePort();
  const retries: RetryInfo[] = [];
  const client = new PlantStoreClient({
    baseUrl: `http://127.0.0.1:${port}`,
    token: "pst_x",
    maxRetries: 3,
    backoffMs: 4,
    random: () => 0.5,
    onRetry: (retry) => retries.push(retry),
  });
  const error = await rejectionOf(client.createPlant({ id: 1n, name: "Monstera" }));
  expect(retries.map(({ attempt, delayMs }) => [attempt, delayMs])).toEqual([
    [1, 2],
    [2, 4],
    [3, 8],
  ]);
  for (const retry of retries) {
    expect(retry.error).toBeInstanceOf(PlantStoreNetworkError);
    expect(retry.error.message).toContain(`http://127.0.0.1:${port}/plants`);
  }
  // The last failure is not retried.
  expect(error).toBeInstanceOf(PlantStoreNetworkError);
  expect((error as PlantStoreNetworkError).cause).toBeInstanceOf(Error);
  expect(retries.map((retry): unknown => retry.error)).not.toContain(error);
});
