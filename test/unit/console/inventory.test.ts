// The console's count of plants, with a store that answers when the test says so.

import { expect, test } from "bun:test";
import { Inventory } from "../../../src/console/inventory.ts";
import type { PlantReader } from "../../../src/core/store/plant-reader.ts";

interface Part {
  readonly plants: number;
  readonly tags: readonly (readonly [string, number])[];
  readonly lastId: bigint | undefined;
}

test("a count that runs while the plants are replaced does not add to the next", async () => {
  const parts: ((part: Part) => void)[] = [];
  const reader = {
    countPart: () => new Promise<Part>((resolve) => parts.push(resolve)),
    createdSince: async () => [0, 0, 0, 0],
  } as unknown as PlantReader;
  const inventory = new Inventory({
    reader: async () => reader,
    recentCreates: { created: 0 },
    bytesOnDisk: async () => 0,
    now: () => performance.now(),
    wallNow: Date.now,
  });
  const figures = async () => (await inventory.figures()).json();

  await figures();
  inventory.clear();
  const counting = figures();
  while (parts.length < 2) await Bun.sleep(1);
  const [before, after] = parts;
  before?.({ plants: 100_000, tags: [], lastId: 100_000n });
  after?.({ plants: 1, tags: [], lastId: 1n });
  while (parts.length < 4) await Bun.sleep(1);
  for (const end of parts.slice(2)) end({ plants: 0, tags: [], lastId: undefined });
  expect(await counting).toMatchObject({ plants: 1 });
});
