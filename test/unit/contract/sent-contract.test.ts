// A contract that another thread has received.

import { expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import { type Contract, type Field, representationOf } from "../../../src/contract/contract.ts";
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

test("has what its reads return, and none of the checks of described parameters", async () => {
  const document = JSON.parse(shelves({ name: { type: "string" } }).text);
  const { post } = document.paths["/shelves"];
  const parameters = [{ name: "X-Depth", in: "header", schema: { type: "integer", minimum: 1 } }];
  const schema = { type: "object", properties: { name: { type: "string" } } };
  const responseOf = (body: object) => ({
    responses: { 200: { description: "It.", content: { "application/json": { schema: body } } } },
  });
  document.paths["/shelves"] = { parameters, post, get: responseOf({ type: "array", items: schema }) };
  document.paths["/shelves/{id}"] = {
    parameters: [...parameters, { name: "id", in: "path", required: true, schema: { type: "integer" } }],
    get: responseOf(schema),
  };
  const contract = await readContract({ text: JSON.stringify(document) });
  const [own, received] = [onlyCollection(contract), receivedFrom(contract)];
  expect([own, received].map(({ operations }) => operations.create.checked?.length)).toEqual([1, undefined]);
  for (const operation of ["get", "list"] as const)
    expect([received, own].map((each) => representationOf(each, operation))).toMatchObject([
      { hasId: false, fields: [true] },
      { hasId: false, fields: [true] },
    ]);
});
