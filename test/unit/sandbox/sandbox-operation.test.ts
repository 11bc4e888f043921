// The line of the start that names the operations which respond as described.

import { expect, test } from "bun:test";
import { ownErrorShape } from "../../../src/core/contract/error-format.ts";
import {
  describedLine,
  sandboxOperations,
} from "../../../src/sandbox/described-operations/sandbox-operation.ts";

const document = {
  openapi: "3.0.3",
  info: { title: "Weather", version: "1" },
  paths: {
    "/weather/{city}": {
      get: { responses: { 200: { description: "ok" } } },
    },
  },
};
const others = [{ method: "GET", path: "/weather/{city}" }] as const;

test("a line names the first ones, and the number of all", () => {
  const some = (count: number) =>
    sandboxOperations(
      document,
      Array.from({ length: count }).fill(others[0]) as (typeof others)[0][],
      ownErrorShape,
    );
  expect(describedLine(some(1))).toBe(
    "1 operation responds as described, and keeps nothing: GET /weather/{city}",
  );
  expect(describedLine(some(12))).toMatch(/^12 operations respond .*, GET \/weather\/\{city\}, 2 more$/);
});
