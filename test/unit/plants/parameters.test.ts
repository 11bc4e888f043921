// The parameters of operations, from their texts.

import { expect, test } from "bun:test";
import { ApiError } from "../../../src/base/errors.ts";
import { filterParameters } from "../../../src/plants/list-filters.ts";
import { int32, parseParameters } from "../../../src/plants/parameters.ts";
import { plantStore } from "../../support/contracts.ts";

/** A parameter of any text, as a filter is. */
const anyText = { schema: {}, description: "", expected: "a string", parse: (text: string) => text };

test.each([
  ["name", {}, "/things?name=a%00b"],
  ["id", { id: "a\0b" }, "/things/a%00b"],
])("U+0000 in %s, which PostgreSQL cannot compare, is no valid parameter", (key, segments, url) => {
  const error = parseParameters({ [key]: anyText }, segments, url);
  expect(error).toBeInstanceOf(ApiError);
  expect(error).toMatchObject({
    code: "invalidParameter",
    message: `A parameter is not valid: "${key}" must be a string, without U+0000, but is "a\\u0000b".`,
  });
});

test("a parameter of the path has its value, beside those of the query", () => {
  const parameters = { id: anyText, name: anyText };
  const values = parseParameters(parameters, { id: "7" }, "/things/7?id=8&name=a");
  expect(values).toEqual({ id: "7", name: "a" });
});

test.each(["limit=0", "limit=1001", "limit=-1", "limit=", "limit=1.0", "limit=1e1", "limit=1&limit=1"])(
  "%s is no limit from 1 to 1000, sent once",
  (query) => {
    const limit = int32({ description: "", minimum: 1, maximum: 1_000, default: 100 });
    expect(parseParameters({ limit }, {}, "/things?limit=1000")).toEqual({ limit: 1_000 });
    expect(parseParameters({ limit }, {}, "/things")).toEqual({ limit: 100 });
    expect(parseParameters({ limit }, {}, `/things?${query}`)).toMatchObject({
      code: "invalidParameter",
      message: expect.stringContaining('"limit" must be'),
    });
  },
);

test("a filter has at most 100 values", () => {
  const more = { isRequired: false, fallback: undefined, check: undefined };
  const filter = { name: "name", key: 0, operator: "eq", isList: true, hasCommas: true, ...more } as const;
  const parameters = filterParameters({ ...plantStore, list: { filters: [filter] } } as never);
  const parsed = (count: number) =>
    parseParameters(parameters, {}, `/plants?name=${Array(count).fill("a").join(",")}`);
  expect(parsed(100)).toHaveProperty("name.length", 100);
  expect(parsed(101)).toMatchObject({ message: expect.stringContaining("at most 100 values") });
});
