// The console's count of plants, with a store that answers when the test says so.

import { expect, test } from "bun:test";
import { PlantCount } from "../../../src/console/reads/plant-count.ts";
import type { SqlConnection } from "../../../src/store/sql-connection.ts";
import { consoleContext } from "../../support/console.ts";
import { plantStore } from "../../support/contracts.ts";
import { eventually } from "../../support/eventually.ts";

test("a count that takes long says how far it is, and a later request has its result", async () => {
  const parts: ((part: { plants: bigint; last: bigint | null }[]) => void)[] = [];
  const sql = { query: () => new Promise((resolve) => parts.push(resolve)) } as unknown as SqlConnection;
  const store = { contract: plantStore, bytesOnDisk: async () => 7 };
  let now = 0;
  const count = new PlantCount(consoleContext({ store, reader: async () => sql, now: () => now }));
  expect(await count.read()).toEqual({ plants: null, countedSoFar: 0, bytes: 7 });
  parts[0]?.([{ plants: 100_000n, last: 100_000n }]);
  await eventually("the second part", () => parts.length === 2);
  expect(await count.read()).toEqual({ plants: null, countedSoFar: 100_000, bytes: 7 });
  now = 10;
  parts[1]?.([{ plants: 0n, last: null }]);
  expect(await count.read()).toEqual({ plants: 100_000, countedSoFar: null, bytes: 7 });
  // It is repeated after 25 times its duration.
  now = 260;
  await count.read();
  expect(parts).toHaveLength(2);
  now = 261;
  expect(await count.read()).toEqual({ plants: 100_000, countedSoFar: 0, bytes: 7 });
  expect(parts).toHaveLength(3);
});
