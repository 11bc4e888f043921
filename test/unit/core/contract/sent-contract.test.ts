// A contract that another thread has received.

import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import type { Contract, Field } from "../../../../src/core/contract/contract.ts";
import { plantJson, toColumns, toValues } from "../../../../src/core/contract/plant.ts";
import { receivedContract, sentContract } from "../../../../src/core/contract/sent-contract.ts";
import { contractWith } from "../../../support/console.ts";
import { onlyCollection, plantStore, readSingle } from "../../../support/contracts.ts";
import { anyPlantOf } from "../../../support/random.ts";

const parcels = await readSingle({
  text: await Bun.file(join(import.meta.dir, "../../../contracts/parcels.yaml")).text(),
});

/** Sends the contract without the members of its only collection, some of which are functions. */
function receivedFrom({
  source,
  document,
  service,
  basePath,
  collections,
  otherOperations,
  access,
  errors,
  notes,
}: Contract) {
  const contract = {
    source,
    document,
    service,
    basePath,
    collections,
    otherOperations,
    access,
    errors,
    notes,
  };
  return onlyCollection(receivedContract(structuredClone(sentContract(contract))));
}

test.each([plantStore, parcels])(
  "has the columns, texts and values of the one that was sent: %#",
  (collection) => {
    const received = receivedFrom(collection);
    const shape = ({ type, ...field }: Field) => ({ ...field, kind: type.kind, column: type.column });
    expect(received.fields.map(shape)).toEqual(collection.fields.map(shape));
    expect(received.titleField).toBe(
      received.fields[collection.fields.indexOf(collection.titleField as Field)],
    );
    expect(received.groupField).toBe(
      received.fields[collection.fields.indexOf(collection.groupField as Field)],
    );
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
  const collection = await contractWith({ size: { type: ["string", "null"], enum: [...values, null] } });
  const received = receivedFrom(collection);
  const [own, other] = [collection.fields[0]?.type, received.fields[0]?.type];
  for (const value of [...values, null]) {
    const text = own?.format(value) ?? "";
    expect([value, own?.parse(text), other?.parse(text)]).toEqual([value, value, value]);
  }
});
