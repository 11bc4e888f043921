// Requests as a description has them: the values of parameters and bodies, and what is refused.

import { expect, test } from "bun:test";
import { ApiError } from "../../../src/base/errors.ts";
import { readDescribedBody } from "../../../src/described/described-body.ts";
import { readDescribedParameters, type SentParameters } from "../../../src/described/described-parameters.ts";
import { operationAt } from "../../../src/openapi/description/described-operation.ts";
import { Place } from "../../../src/openapi/document/place.ts";

const text = { type: "string" };
const integer = { type: "integer" };
const list = { type: "array", items: integer };
const object = { type: "object", properties: { a: integer, b: text } };
const json = "application/json";

const parameter = (where: string, name: string, schema: object, more = {}) => ({
  in: where,
  name,
  schema,
  ...more,
});
const item = {
  parameters: [parameter("query", "size", { ...integer, maximum: 1 }), parameter("query", "code", text)],
  post: {
    parameters: [
      parameter("query", "size", { ...integer, default: 20 }),
      parameter("query", "ids", list),
      parameter("query", "joined", list, { explode: false }),
      parameter("query", "piped", list, { style: "pipeDelimited", explode: false }),
      parameter("query", "deep", object, { style: "deepObject" }),
      parameter("header", "X-Object", object, { explode: true }),
      parameter("header", "X-Pairs", object),
      parameter("path", "id", integer, { required: true, style: "label" }),
    ],
    requestBody: {
      required: true,
      content: {
        [json]: {
          schema: {
            type: "object",
            properties: { code: text, size: { ...integer, default: 7 }, by: { ...text, readOnly: true } },
          },
        },
      },
    },
  },
};
const root = Place.root({ openapi: "3.1.0", paths: { "/a/{id}": item } });
const operation = operationAt(root.at("paths", "/a/{id}"), "/a/{id}", "post");
const readParameters = await readDescribedParameters(operation);
const readBody = await readDescribedBody(operation.place);

const sent: SentParameters = { headers: new Headers(), query: "", segments: { id: ".5" } };

test.each<[what: string, parts: Partial<SentParameters>, expected: object]>([
  ["the default of a parameter", {}, { query: { size: 20 } }],
  ["a parameter of the operation, and not that of its path", { query: "size=5" }, { query: { size: 5 } }],
  ["a text of digits", { query: "code=007" }, { query: { code: "007" } }],
  ["a parameter that is repeated", { query: "ids=1&ids=2" }, { query: { ids: [1, 2] } }],
  ["commas", { query: "joined=1,2" }, { query: { joined: [1, 2] } }],
  ["bars", { query: "piped=1%7C2" }, { query: { piped: [1, 2] } }],
  ["a deep object", { query: "deep[a]=1&deep[b]=2" }, { query: { deep: { a: 1, b: "2" } } }],
  [
    "an exploded object",
    { headers: new Headers({ "X-Object": "a=1,b=2" }) },
    { header: { "X-Object": { a: 1, b: "2" } } },
  ],
  [
    "an object of pairs",
    { headers: new Headers({ "X-Pairs": "a,1,b,2" }) },
    { header: { "X-Pairs": { a: 1, b: "2" } } },
  ],
  ["a label", { segments: { id: ".7" } }, { path: { id: 7 } }],
])("%s is read", (_, parts, expected) => {
  expect(readParameters({ ...sent, ...parts })).toMatchObject(expected);
});

test("a parameter that is missing or does not fit is named", () => {
  const messageOf = (parts: Partial<SentParameters>) =>
    (readParameters({ ...sent, ...parts }) as ApiError).message;
  expect(messageOf({ segments: {} })).toContain("The path parameter id is missing");
  expect(messageOf({ query: "size=x" })).toContain("The query parameter size is not valid");
});

/** The value of a body, or the code of its error. */
async function taken(
  body: string,
  fields: Record<string, string> = { "Content-Type": json },
): Promise<unknown> {
  const read = await readBody?.(new Headers(fields), async () => Buffer.from(body));
  return read instanceof ApiError ? read.code : read?.value;
}

test("a handler gets a body with its defaults, and without what clients cannot set", async () => {
  expect(await taken('{"code":"a","by":"me"}')).toEqual({ code: "a", size: 7 });
  expect(await taken('{"size":1}')).toEqual({ size: 1 });
});

test.each([
  ["", { "Content-Type": json }, "invalidPlant"],
  ['{"size":"x"}', { "Content-Type": json }, "invalidPlant"],
  ["{", { "Content-Type": json }, "invalidJson"],
  ["{}", { "Content-Type": json, "Content-Encoding": "gzip" }, "unsupportedMediaType"],
  ["{}", { "Content-Type": "text/plain" }, "unsupportedMediaType"],
])("the body %j with %j does not reach the handler", async (body, fields, code) => {
  expect(await taken(body, fields as unknown as Record<string, string>)).toBe(code);
});
