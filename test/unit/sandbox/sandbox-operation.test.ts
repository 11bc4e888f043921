// An operation that responds as described: it needs neither a server nor a collection.

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
      parameters: [{ name: "city", in: "path", required: true, schema: { type: "string", maxLength: 4 } }],
      get: {
        responses: {
          200: {
            description: "ok",
            content: { "application/json": { schema: { type: "integer", enum: [7] } } },
          },
        },
      },
    },
  },
};
const others = [{ method: "GET", path: "/weather/{city}" }] as const;

test("a description without a collection has operations that respond", async () => {
  const [operation] = sandboxOperations(document, others, ownErrorShape);
  const respond = (city: string) =>
    operation?.respond({
      headers: new Headers(),
      query: "",
      segments: { city },
      readBody: () => Promise.reject(new Error("no body is described")),
    });
  expect(await (await respond("Oslo"))?.text()).toBe("7");
  const rejected = await respond("Berlin");
  expect(rejected?.status).toBe(400);
  expect(await rejected?.json()).toEqual({
    error: 40004,
    message: "The path parameter city is not valid: it must be a string of at most 4 characters.",
  });
});

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
