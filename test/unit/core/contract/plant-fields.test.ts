// The fields of the resource: openapi.yaml, the server and the client have the same ones.

import { expect, test } from "bun:test";
import openapi from "../../../../openapi.yaml";
import { fields as clientFields } from "../../../../packages/client/src/plant.ts";
import { fieldNames, isRequired, typeOf } from "../../../../src/core/contract/fields.ts";

const { properties = {}, required = [] } = openapi.components.schemas.Plant;

test("the server and the client have the fields of the schema Plant", () => {
  expect(Object.keys(properties)).toEqual([...fieldNames]);
  expect([...required].toSorted()).toEqual(fieldNames.filter(isRequired).toSorted());
  expect(Object.entries(clientFields).map(([field, { isRequired }]) => [field, isRequired])).toEqual(
    fieldNames.map((field) => [field, isRequired(field)]),
  );
});

test.each([...fieldNames])(
  "%s has the schema of its type, and can be a column of every engine and the header of a CSV file",
  (field) => {
    expect(properties[field]).toMatchObject(typeOf(field).schema);
    // PostgreSQL and the CSV import fold letters to lower case.
    expect(field).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(["id", "created_at", "creator", "createdAt", "token", "position"]).not.toContain(field);
  },
);
