// The console's count of plants, with a store that answers when the test says so.

import { expect, test } from "bun:test";
import { Inventory } from "../../../src/console/inventory.ts";
import type { SqlConnection } from "../../../src/core/store/sql-connection.ts";
import { consoleContext } from "../../support/console.ts";
import { eventually } from "../../support/eventually.ts";

interface Group {
  readonly group_text: string | null;
  readonly plants: bigint;
  readonly last: bigint;
  readonly [period: string]: bigint | string | null;
}

function group(plants: bigint): Group {
  return { group_text: null, plants, last: plants, hour: plants, day: plants, week: plants, month: plants };
}

test("a count that runs while the plants are replaced does not add to the next", async () => {
  const parts: ((part: Group[]) => void)[] = [];
  const sql = {
    query: () => new Promise<Group[]>((resolve) => parts.push(resolve)),
  } as unknown as SqlConnection;
  const store = { bytesOnDisk: async () => 0 };
  const inventory = new Inventory(consoleContext({ store, reader: async () => sql }));
  await inventory.figures();
  inventory.clear();
  const counting = inventory.figures();
  await eventually("the first two parts", () => parts.length >= 2);
  const [before, after] = parts;
  before?.([group(100_000n)]);
  after?.([group(1n)]);
  await eventually("the next two parts", () => parts.length >= 4);
  for (const end of parts.slice(2)) end([]);
  await counting;
  // A request waits for a count for a limited time.
  const figures = await eventually(
    "the count",
    () => inventory.figures(),
    ({ plants }) => plants !== null,
  );
  expect(figures).toMatchObject({ plants: 1, created: { hour: 1, day: 1, week: 1, month: 1 } });
});
