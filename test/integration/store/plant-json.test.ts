// The JSON that an engine writes: to the byte that of responseJson.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { type Representation, wholeOf } from "../../../src/contract/contract.ts";
import { responseJson } from "../../../src/contract/plant.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { plantJsonSql } from "../../../src/store/shared/plant-json.ts";
import { contractFile } from "../../support/contract-sandbox.ts";
import { plantStore, readSingle, type SingleContract, shelves } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { anyPlantOf } from "../../support/random.ts";
import { openedStore, unexpected } from "../../support/stored-plants.ts";

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

for (const { name: engine, engine: dialect, createTestStore } of engines)
  for (const [name, text] of Object.entries(sources))
    test(`the JSON of ${name} of any values is the same on ${engine}`, async () => {
      const contract = await readSingle({ text });
      await using testStore = await createTestStore({ text });
      await using store = await openedStore(testStore.database, unexpected, { text });
      const [collection = contract] = store.contract.collections;
      const characters = Array.from({ length: 0x2100 }, (_, code) => String.fromCodePoint(code + 1)).join("");
      const plants = fc.sample(anyPlantOf(collection), 100);
      const texts = collection.fields.map(({ type }, index) =>
        type.kind.name === "text" && !type.kind.isNullable ? characters : plants[0]?.values[index],
      );
      const all = [...plants, { ...(plants[0] as (typeof plants)[0]), values: texts }].map(
        (plant, index) => ({
          ...plant,
          id: BigInt(index) - 50n,
        }),
      );
      expect(await store.create(toEntries(collection, all))).toEqual(all.map(() => "created"));
      await using sql = await store.openSql();
      for (const representation of representationsOf(contract)) {
        const json = plantJsonSql(dialect as "sqlite" | "postgres", collection, representation);
        const rows = await sql.query(`SELECT ${json} AS json FROM "${collection.table}" ORDER BY id`);
        expect(rows).toEqual(all.map((plant) => ({ json: responseJson(collection, representation, plant) })));
      }
    });

test("what takes more than the columns of a row is left to the server", () => {
  const whole = wholeOf(plantStore);
  for (const name of ["createdName", "updatedName", "urlName"])
    expect(plantJsonSql("postgres", plantStore, { ...whole, [name]: "name" })).toBeUndefined();
  const [field] = plantStore.fields;
  const gathered = { ...plantStore, fields: field === undefined ? [] : [{ ...field, isOthers: true }] };
  expect(plantJsonSql("postgres", gathered, whole)).toBeUndefined();
});
