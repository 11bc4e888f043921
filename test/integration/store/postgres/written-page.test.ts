// The pages that PostgreSQL writes.

import { afterAll, expect, test } from "bun:test";
import { toEntries } from "../../../../src/store/plant-store.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";
import { Primary } from "../../../../src/store/postgres/primary.ts";
import { runWork } from "../../../../src/store/postgres/sql-work.ts";
import { writtenPageWork } from "../../../../src/store/postgres/written-page.ts";
import { type PageQuery, pageWork } from "../../../../src/store/shared/page.ts";
import { plantStore, toPlants } from "../../../support/contracts.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { openedStore } from "../../../support/stored-plants.ts";

const server = await sharedPostgres();
afterAll(() => server[Symbol.asyncDispose]());

test("a page is the one that the server would write", async () => {
  const { address } = await server.newDatabase();
  await using store = await openedStore(address);
  const { contract } = store;
  const primary = new Primary({
    ...parsePostgresUrl(address.replace("postgres:", "")),
    connectionsMax: 1,
    isPipelined: true,
  });
  await using _ = { [Symbol.asyncDispose]: () => primary.close() };
  const traits = { dialect: "postgres", inTime: "true" } as const;
  const isSame = async (some: Partial<PageQuery>) => {
    const all = { table: "plants", conditions: [], terms: [], after: undefined, offset: 0 };
    const query = { ...all, size: 10, bytesMax: 100_000, url: "http://localhost/plants", ...some };
    const [written, expected] = await primary.once((pool) =>
      Promise.all([
        runWork(pool, writtenPageWork(contract, traits, query, 1_000)),
        runWork(pool, pageWork(contract, traits, query, 1_000)),
      ]),
    );
    expect(written).toEqual(expected as typeof written);
    return written?.count;
  };
  expect(await isSame({})).toBe(0);
  const text = (length: number) => '"'.repeat(length);
  const lengths = [...Array.from({ length: 20 }, () => 5), 16_000, 17_000, 40_000, 5, 5];
  const plants = lengths.map((length, index) => ({ id: BigInt(index), name: text(length) }));
  await store.create(toEntries(plantStore, toPlants(plants)));
  const counts: unknown[] = [];
  for (const after of [undefined, 9n, 18n, 24n, 25n])
    for (const bytesMax of [100_000, 1_000, 150])
      for (const size of [5, 6, 10, 1_000]) {
        const place = after === undefined ? undefined : { values: [], id: after };
        counts.push(await isSame({ after: place, bytesMax, size }));
      }
  expect(new Set(counts).size).toBeGreaterThan(5);
  for (const offset of [1, 15, 24, 25, 10_001]) await isSame({ offset, size: 5 });
  const value = { value: text(5), operator: "eq", isFallback: false } as const;
  const condition = { key: 0, operator: "eq", values: [value] } as const;
  for (const isDescending of [false, true])
    for (const bytesMax of [100_000, 1_000, 150])
      for (const size of [5, 30]) {
        expect(await isSame({ terms: [{ key: 0, isDescending }], bytesMax, size })).toBeGreaterThan(0);
        expect(await isSame({ conditions: [condition], bytesMax, size, offset: 3 })).toBeGreaterThan(0);
      }
});
