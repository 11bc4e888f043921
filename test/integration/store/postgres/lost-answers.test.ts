// A batch whose commit succeeded, and whose answer was lost, is repeated: it finds its own plants, and
// takes no equal one for them.

import { expect, test } from "bun:test";
import type { PlantId } from "../../../../src/contract/plant-id.ts";
import type { NewEntry } from "../../../../src/store/plant-store.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";
import { createPlants } from "../../../../src/store/postgres/plants.ts";
import { type Commits, Primary } from "../../../../src/store/postgres/primary.ts";
import { readSingle } from "../../../support/contracts.ts";
import { contractWithIds, idSchemas } from "../../../support/id-contracts.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { createStore } from "../../../support/server.ts";
import { storedCount, unexpected } from "../../../support/stored-plants.ts";

test.each(Object.entries(idSchemas))("ids that are %s", async (_, schema) => {
  const contract = contractWithIds(schema);
  const collection = await readSingle(contract);
  await using server = await sharedPostgres();
  const { address } = await server.newDatabase();
  await createStore(address, contract);
  const primary = new Primary(parsePostgresUrl(address.replace("postgres:", "")));
  const losing: Commits = {
    once: (work) => primary.once(work),
    withRetry: async (work) => {
      await primary.once(work);
      return primary.once(work);
    },
  };
  const createdAt = Date.now();
  const create = (commits: Commits, entries: readonly NewEntry[]) =>
    createPlants(commits, entries, createdAt, unexpected);
  const idOf = (number: number): PlantId =>
    collection.id.type.kind.name === "integer" ? BigInt(number) : `${number}`;
  const entry = (number: number, key: NewEntry["key"] = null): NewEntry => ({
    collection,
    plant: { id: idOf(number), values: ["equal"] },
    creator: null,
    key,
  });
  const keyOf = (number: number) => `${number}`.padStart(22, "k");
  try {
    // By INSERT and by COPY.
    for (const [first, count] of [
      [1, 3],
      [101, 30],
    ] as const) {
      const numbers = Array.from({ length: count }, (_, index) => first + index);
      const own = numbers.map((number) => entry(number));
      expect(await create(losing, own)).toEqual(own.map(() => "created"));
      expect(await create(losing, own)).toEqual(own.map(() => "taken"));
      // The ids are taken, and then the keys are known.
      expect(await create(losing, [entry(first, keyOf(first))])).toEqual(["taken"]);
      const keyed = numbers.map((number) => entry(number + 1_000, keyOf(number)));
      expect(await create(primary, keyed)).toEqual(own.map(() => "created"));
      expect(await create(losing, keyed)).toEqual(own.map(() => "unchanged"));
      const elsewhere = numbers.map((number) => entry(number + 2_000, keyOf(number)));
      expect(await create(primary, elsewhere)).toEqual(own.map(() => "unchanged"));
    }
  } finally {
    await primary.close();
  }
  expect(await storedCount(address)).toBe(66);
});
