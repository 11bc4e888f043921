// The fields of a plant: openapi.yaml, the server and the client have the same ones.

import { expect, test } from "bun:test";
import openapi from "../../../../openapi.yaml";
import { fields as clientFields } from "../../../../packages/client/src/plant.ts";
import {
  type FieldType,
  fieldNames,
  fields,
  isRequired,
  typeOf,
} from "../../../../src/core/contract/fields.ts";

const { properties = {}, required = [] } = openapi.components.schemas.Plant;

test("the server and the client have the fields of the schema Plant", () => {
  expect(Object.keys(properties)).toEqual([...fieldNames]);
  expect([...required].toSorted()).toEqual(fieldNames.filter(isRequired).toSorted());
  expect(JSON.stringify(clientFields)).toEqual(JSON.stringify(fields));
});

const schemas: Readonly<Record<FieldType, object>> = {
  text: { type: "string", pattern: "^[^\\x00]*$" },
  integer: { type: "integer", format: "int32" },
  boolean: { type: "boolean" },
};

test.each([...fieldNames])(
  "%s has the schema of its type, and can be a column of every engine and the header of a CSV file",
  (field) => {
    expect(properties[field]).toMatchObject(schemas[typeOf(field)]);
    // PostgreSQL and the CSV import fold letters to lower case.
    expect(field).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(["id", "created_at", "creator", "createdAt", "token", "position"]).not.toContain(field);
  },
);
