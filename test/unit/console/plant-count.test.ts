// The console's count of plants, with a store that answers when the test says so.

import { expect, test } from "bun:test";
import { PlantCount } from "../../../src/console/plant-count.ts";
import type { SqlConnection } from "../../../src/core/store/sql-connection.ts";
import { consoleContext } from "../../support/console.ts";
import { eventually } from "../../support/eventually.ts";

test("a count follows what this server creates, and one that runs while the plants are replaced is dropped", async () => {
  const parts: ((part: { plants: bigint; last: bigint | null }[]) => void)[] = [];
  const sql = { query: () => new Promise((resolve) => parts.push(resolve)) } as unknown as SqlConnection;
  const store = { bytesOnDisk: async () => 7 };
  const count = new PlantCount(consoleContext({ store, reader: async () => sql }));
  expect(await count.read()).toEqual({ plants: null, countedSoFar: 0, bytes: 7 });
  count.clear();
  const counting = count.read();
  await eventually("the first parts of both counts", () => parts.length >= 2);
  parts[0]?.([{ plants: 100_000n, last: 100_000n }]);
  parts[1]?.([{ plants: 1n, last: 1n }]);
  await eventually("the last parts of both counts", () => parts.length >= 4);
  for (const end of parts.slice(2)) end([{ plants: 0n, last: null }]);
  await counting;
  count.handle({ kind: "plantsChanged", created: 5, unchanged: 1, deleted: 2, endedAt: 0 });
  expect(await count.read()).toMatchObject({ plants: 4, countedSoFar: null });
});
