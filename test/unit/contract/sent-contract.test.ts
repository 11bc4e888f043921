// A contract that another thread has received.

import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import type { Contract, Field } from "../../../src/contract/contract.ts";
import { plantJson, toColumns, toValues } from "../../../src/contract/plant.ts";
import { receivedContract, sentContract } from "../../../src/contract/sent-contract.ts";
import { plantStoreSource } from "../../../src/openapi/default-contract.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { onlyCollection, shelves } from "../../support/contracts.ts";
import { anyPlantOf } from "../../support/random.ts";

const parcels = await Bun.file(join(import.meta.dir, "../../contracts/parcels.yaml")).text();

const receivedFrom = (contract: Contract) =>
  onlyCollection(receivedContract(structuredClone(sentContract(contract))));

test.each([plantStoreSource, { text: parcels }])(
  "has the columns, texts and values of the one that was sent: %#",
  async (source) => {
    const contract = await readContract(source);
    const [collection, received] = [onlyCollection(contract), receivedFrom(contract)];
    const shape = ({ type, ...field }: Field) => ({ ...field, kind: type.kind, column: type.column });
    expect(received.fields.map(shape)).toEqual(collection.fields.map(shape));
    fc.assert(
      fc.property(anyPlantOf(collection), ({ id, values }) => {
        const texts = values.map((value, index) =>
          value === undefined ? undefined : (collection.fields[index] as Field).type.format(value),
        );
        const parsed = received.fields.map(({ type }, index) => {
          const text = texts[index];
          return text === undefined ? undefined : type.parse(text);
        });
        expect(parsed).toEqual([...values]);
        const columns = toColumns(received, values);
        expect(columns).toEqual(toColumns(collection, values));
        const row = Object.fromEntries(
          received.fields.map(({ columnName }, index) => [columnName, columns[index]]),
        );
        expect(plantJson(received, { id, values: toValues(received, row) })).toBe(
          plantJson(collection, { id, values }),
        );
      }),
    );
  },
);

test("has the texts of an enum that look like null or like quotes", async () => {
  const values = ["null", '"a"', "a"];
  const size = { type: ["string", "null"], enum: [...values, null] };
  const contract = await readContract(shelves({ size }, []));
  const [own, other] = [onlyCollection(contract), receivedFrom(contract)].map(
    ({ fields }) => fields[0]?.type,
  );
  for (const value of [...values, null]) {
    const text = own?.format(value) ?? "";
    expect([value, own?.parse(text), other?.parse(text)]).toEqual([value, value, value]);
  }
});
