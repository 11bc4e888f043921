// Examples of fields that have none in the description: those that are made up fit their schemas.

import { expect, test } from "bun:test";
import type { Plant } from "../../../src/contract/contract.ts";
import { parseCreate, sampleBody } from "../../../src/contract/plant.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";

async function collectionWith(schema: object) {
  const resource = {
    type: "object",
    required: ["id", "it"],
    properties: { id: { type: "integer" }, it: schema },
  };
  const content = { "application/json": { schema: resource } };
  const document = {
    openapi: "3.1.0",
    info: { title: "Things", version: "1" },
    paths: {
      "/things": {
        post: {
          requestBody: { required: true, content },
          responses: { 201: { description: "It.", content } },
        },
      },
    },
  };
  const contract = await readContract({ text: JSON.stringify(document) });
  return { notes: contract.notes, collection: contract.collections[0] as (typeof contract.collections)[0] };
}

const amount = { type: "string", pattern: "^\\d+\\.\\d{2}$" };
const price = {
  type: "object",
  required: ["amount", "currency"],
  properties: { amount, currency: { type: "string", pattern: "^[A-Z]{3}$" } },
};

test.each<[name: string, schema: object]>([
  ["an object with patterns", price],
  ["an object in an object", { type: "object", required: ["total"], properties: { total: price } }],
  ["an array of objects", { type: "array", minItems: 2, items: price }],
  [
    "parts of an object",
    { allOf: [price, { required: ["tax"], properties: { tax: { type: "number", minimum: 5 } } }] },
  ],
  ["an alternative", { oneOf: [{ type: "null" }, price] }],
  [
    "limits in an object",
    { type: "object", required: ["n"], properties: { n: { type: "integer", minimum: 7 } } },
  ],
  ["members of a map", { type: "object", minProperties: 2, additionalProperties: amount }],
  ["an IBAN", { type: "string", pattern: "^[A-Z]{2}\\d{2}[A-Z\\d]{1,30}$", minLength: 15, maxLength: 34 }],
  ["base64 with a length", { type: "string", format: "byte", minLength: 12 }],
  ["an int64 that no double holds", { type: "integer", format: "int64", minimum: 2 ** 60 }],
])("%s", async (_, schema) => {
  const { notes, collection } = await collectionWith(schema);
  expect(notes).toEqual([]);
  const plant = parseCreate(collection, Buffer.from(sampleBody(collection, 1n)));
  expect((plant as Plant).values).toEqual(collection.fields.map(({ example }) => example));
});
