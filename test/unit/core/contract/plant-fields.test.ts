// The fields of a plant: openapi.yaml, the server and the client name the same ones.

import { expect, test } from "bun:test";
import { optionalFields as clientFields } from "../../../../packages/client/src/plant.ts";
import { openapi, optionalFields, textFields } from "../../../../src/core/contract/plant.ts";

const { properties = {}, required = [] } = openapi.components.schemas.Plant;

test("the server and the client have the fields of the schema Plant, of which only the name is required", () => {
  expect(Object.keys(properties)).toEqual([...textFields]);
  expect(required).toEqual(["name"]);
  expect([...clientFields] as string[]).toEqual([...optionalFields]);
});

test.each([...textFields])(
  "%s is a text, and can be a column of every engine and the header of a CSV file",
  (field) => {
    expect(properties[field]?.type).toBe("string");
    // PostgreSQL and the CSV import fold letters to lower case.
    expect(field).toMatch(/^[a-z][a-z_]*$/);
    expect(["id", "createdAt", "token", "position"]).not.toContain(field);
  },
);
