// The names of the fields of the resource.

import { expect, test } from "bun:test";
import { fieldNames } from "../../../../src/core/contract/fields.ts";

test.each([...fieldNames])("%s can be a column of every engine and the header of a CSV file", (field) => {
  // PostgreSQL and the CSV import fold letters to lower case.
  expect(field).toMatch(/^[a-z][a-z0-9_]*$/);
  expect(["id", "created_at", "creator", "createdAt", "token", "position"]).not.toContain(field);
});
