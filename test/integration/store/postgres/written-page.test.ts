// The JSON that PostgreSQL writes: to the byte that of responseJson.

import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { type Representation, wholeOf } from "../../../../src/contract/contract.ts";
import { responseJson } from "../../../../src/contract/plant.ts";
import { toEntries } from "../../../../src/store/plant-store.ts";
import { parsePostgresUrl } from "../../../../src/store/postgres/connection-url.ts";
import { plantJsonSql } from "../../../../src/store/postgres/plant-json.ts";
import { Primary } from "../../../../src/store/postgres/primary.ts";
import { runWork } from "../../../../src/store/postgres/sql-work.ts";
import { writtenPageWork } from "../../../../src/store/postgres/written-page.ts";
import { type PageQuery, pageWork } from "../../../../src/store/shared/page.ts";
import { contractFile } from "../../../support/contract-sandbox.ts";
import {
  plantStore,
  readSingle,
  type SingleContract,
  shelves,
  toPlants,
} from "../../../support/contracts.ts";
import { sharedPostgres } from "../../../support/postgres.ts";
import { anyPlantOf } from "../../../support/random.ts";
import { openedStore, unexpected } from "../../../support/stored-plants.ts";

const server = await sharedPostgres();
afterAll(() => server[Symbol.asyncDispose]());

/** Each form that a response may have. */
function representationsOf({ fields }: SingleContract): Representation[] {
  const whole = wholeOf({ fields });
  const all = { ...whole, fields: fields.map(() => true) };
  return [
    whole,
    all,
    { ...all, hasId: false },
    { ...all, hasId: false, fields: fields.map(() => false) },
    { ...all, absent: fields.map(() => "null"), constants: ['"object":"it\'s"', '"version":1'] },
    { ...all, fields: fields.map((_, index) => index % 2 === 0), wrapper: ['{"data":', ',"ok":true}'] },
  ];
}

const members = Array.from({ length: 70 }, (_, index) => [
  index === 0 ? "name" : `it's ${index}`,
  { type: ["string", "integer", "boolean"][index % 3] },
]);
const sources = {
  parcels: await Bun.file(contractFile("parcels.yaml")).text(),
  "70 members": shelves(Object.fromEntries(members)).text,
};

for (const [name, text] of Object.entries(sources))
  test(`the JSON of ${name} of any values is the same`, async () => {
    const contract = await readSingle({ text });
    const { address } = await server.newDatabase();
    await using store = await openedStore(address, unexpected, { text });
    const [collection = contract] = store.contract.collections;
    const characters = Array.from({ length: 0x2100 }, (_, code) => String.fromCodePoint(code + 1)).join("");
    const plants = fc.sample(anyPlantOf(collection), 100);
    const texts = collection.fields.map(({ type }, index) =>
      type.kind.name === "text" && !type.kind.isNullable ? characters : plants[0]?.values[index],
    );
    const all = [...plants, { ...(plants[0] as (typeof plants)[0]), values: texts }].map((plant, index) => ({
      ...plant,
      id: BigInt(index) - 50n,
    }));
    expect(await store.create(toEntries(collection, all))).toEqual(all.map(() => "created"));
    await using sql = await store.openSql();
    for (const representation of representationsOf(contract)) {
      const json = plantJsonSql(collection, representation);
      const rows = await sql.query(`SELECT ${json} AS json FROM "${collection.table}" ORDER BY id`);
      expect(rows).toEqual(all.map((plant) => ({ json: responseJson(collection, representation, plant) })));
    }
  });

test("what takes more than the columns of a row is left to the server", () => {
  const whole = wholeOf(plantStore);
  for (const name of ["createdName", "updatedName", "urlName"])
    expect(plantJsonSql(plantStore, { ...whole, [name]: "name" })).toBeUndefined();
  const [field] = plantStore.fields;
  const gathered = { ...plantStore, fields: field === undefined ? [] : [{ ...field, isOthers: true }] };
  expect(plantJsonSql(gathered, whole)).toBeUndefined();
});

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
