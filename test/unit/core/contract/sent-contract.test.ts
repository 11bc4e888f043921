// A contract that another thread has received.

import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import type { Field } from "../../../../src/core/contract/contract.ts";
import { readContract } from "../../../../src/core/contract/description/read-contract.ts";
import { plantJson, toColumns, toValues } from "../../../../src/core/contract/plant.ts";
import { receivedContract, sentContract } from "../../../../src/core/contract/sent-contract.ts";
import { contractWith } from "../../../support/console.ts";
import { plantStore } from "../../../support/contracts.ts";
import { anyPlantOf } from "../../../support/random.ts";

const parcels = await readContract({
  text: await Bun.file(join(import.meta.dir, "../../../contracts/parcels.yaml")).text(),
});

test.each([plantStore, parcels])(
  "has the columns, texts and values of the one that was sent: %#",
  (contract) => {
    const received = receivedContract(structuredClone(sentContract(contract)));
    const shape = ({ type, ...field }: Field) => ({ ...field, kind: type.kind, column: type.column });
    expect(received.fields.map(shape)).toEqual(contract.fields.map(shape));
    expect(received.titleField).toBe(received.fields[contract.fields.indexOf(contract.titleField as Field)]);
    expect(received.groupField).toBe(received.fields[contract.fields.indexOf(contract.groupField as Field)]);
    fc.assert(
      fc.property(anyPlantOf(contract), ({ id, values }) => {
        const texts = values.map((value, index) =>
          value === undefined ? undefined : (contract.fields[index] as Field).type.format(value),
        );
        const parsed = received.fields.map(({ type }, index) => {
          const text = texts[index];
          return text === undefined ? undefined : type.parse(text);
        });
        expect(parsed).toEqual([...values]);
        const columns = toColumns(received, values);
        expect(columns).toEqual(toColumns(contract, values));
        const row = Object.fromEntries(
          received.fields.map(({ columnName }, index) => [columnName, columns[index]]),
        );
        expect(plantJson(received, { id, values: toValues(received, row) })).toBe(
          plantJson(contract, { id, values }),
        );
      }),
    );
  },
);

test("has the texts of an enum that look like null or like quotes", async () => {
  const values = ["null", '"a"', "a"];
  const contract = await contractWith({ size: { type: ["string", "null"], enum: [...values, null] } });
  const received = receivedContract(structuredClone(sentContract(contract)));
  const [own, other] = [contract.fields[0]?.type, received.fields[0]?.type];
  for (const value of [...values, null]) {
    const text = own?.format(value) ?? "";
    expect([value, own?.parse(text), other?.parse(text)]).toEqual([value, value, value]);
  }
});
