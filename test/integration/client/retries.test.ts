// Retries against servers that are really overloaded, rate-limited or gone for a while.

import { expect, test } from "bun:test";
import { PlantStoreClient, PlantStoreNetworkError } from "../../../packages/client/src/index.ts";
import { rejectionOf, startClientTarget } from "../../support/client.ts";
import { reservePort } from "../../support/ports.ts";
import { exported } from "../../support/stored-plants.ts";

test("42900 is retried after Retry-After, until every plant is stored", async () => {
  await using target = await startClientTarget("--token-rate", "3");
  const statuses: number[] = [];
  const client = target.client({
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      statuses.push(response.status);
      return response;
    },
    maxRetries: 100,
  });
  await Promise.all(Array.from({ length: 6 }, (_, id) => client.createPlant({ id, name: "Monstera" })));
  expect((await exported(target.server.database)).match(/"id":/g)).toHaveLength(6);
  expect(new Set(statuses)).toEqual(new Set([200, 429]));
});

test("a network error is the last one's, after all retries", async () => {
  const port = reservePort();
  let attempts = 0;
  const client = new PlantStoreClient({
    baseUrl: `http://127.0.0.1:${port}`,
    token: () => `pst_${++attempts}`,
    maxRetries: 3,
    backoffMs: 1,
  });
  const error = await rejectionOf(client.createPlant({ id: 1n, name: "Monstera" }));
  expect(error).toBeInstanceOf(PlantStoreNetworkError);
  expect((error as PlantStoreNetworkError).message).toContain(`http://127.0.0.1:${port}/plants`);
  expect((error as PlantStoreNetworkError).cause).toBeInstanceOf(Error);
  expect(attempts).toBe(4);
});
