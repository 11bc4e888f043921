// The errors of bodies: which one a body gets, and its message.

import { expect, test } from "bun:test";

import type { ApiError, ErrorCode } from "../../../src/base/errors.ts";
import { type Representation, wholeOf } from "../../../src/contract/contract.ts";
import {
  isPlantJson,
  itemUrl,
  parsePlant,
  parsePlantJson,
  plantJson,
  responseJson,
} from "../../../src/contract/plant.ts";
import { emptyFilter } from "../../../src/json/json-filter.ts";
import { plant, plantStore } from "../../support/contracts.ts";
import { objectOf, readThings } from "../../support/descriptions.ts";

function expectError(body: string | Uint8Array, code: ErrorCode, message: string): void {
  expect(parsePlant(plantStore, Buffer.from(body as string))).toMatchObject({ code, message });
}

test("a body that is not JSON gets the position of its first error", () => {
  expectError(
    '{"id": 1,\n "name": }',
    "invalidJson",
    'The body is not JSON: line 2, column 10: expected a value, found "}".',
  );
  expectError(
    "[".repeat(1_000_000),
    "invalidJson",
    'The body is not JSON: line 1, column 1000001: expected a value or "]", found the end of the body.',
  );
});

test.each([
  ["a lone continuation byte", '"\x80"', 1, 2],
  ["Latin-1", '{"id": 1,\n"name": "caf\xe9"}', 2, 13],
  ["a sequence that is cut short", '"\xef\xbf', 1, 2],
  ["an encoded surrogate", '"\xed\xa0\x80"', 1, 2],
  ["an encoding that is longer than necessary", '"\xc0\xaf"', 1, 2],
])("%s is not UTF-8", (_, latin1, line, column) => {
  expectError(
    Buffer.from(latin1, "latin1"),
    "invalidJson",
    `The body is not UTF-8: invalid bytes at line ${line}, column ${column}; encode the JSON in UTF-8.`,
  );
});

const noName = '"name" is required and must be a string, but is missing';
const noId = '"id" is required and must be an integer (int64), but is missing';

test.each([
  ["{}", `${noName}; ${noId}`],
  ["null", "it must be an object, but is null"],
  ["[]", "it must be an object, but is an array"],
  ['"plant"', "it must be an object, but is a string"],
  ["42", "it must be an object, but is the number 42"],
  ['{"id": 1}', noName],
  ['{"name": "Monstera"}', noId],
  ['{"id": 1, "name": "Monstera", "tag": null}', '"tag" must be a string, but is null'],
  [
    '{"id": "1", "name": 5, "tag": ["x"]}',
    '"name" must be a string, but is the number 5; "tag" must be a string, but is an array; "id" must be an integer (int64), but is a string',
  ],
  ['{"id": 1.5, "name": "a"}', '"id" must be an integer (int64), but is the number 1.5'],
  [
    '{"id": true, "name": {}}',
    '"name" must be a string, but is an object; "id" must be an integer (int64), but is a boolean',
  ],
  ['{"id": 9223372036854775808}', `${noName}; "id" must be an integer (int64), but is 9223372036854775808`],
])("the message names every invalid field of %s", (body, sentences) => {
  expectError(body, "invalidPlant", `The body is not a NewPlant: ${sentences}.`);
});

test("the log has no name that a client chose", async () => {
  const body = { ...objectOf({ id: { type: "integer" } }, ["id"]), additionalProperties: { type: "string" } };
  const error = parsePlantJson(await readThings({ body }), '{"id":1,"mine":5}') as ApiError;
  expect(error.message).toContain('"mine" must be a string');
  expect(error.details.logged).toEndWith("it does not fit its schema.");
});

test.each([
  [
    '{"id": 1, "name": "Monst\\u0000era"}',
    '"name" holds U+0000 at index 5, which cannot be stored: remove it.',
  ],
  [
    '{"id": 1, "name": "🌱\\udc00", "tag": "\\u0000"}',
    '"name" holds the unpaired surrogate U+DC00 at index 2, which cannot be stored; "tag" holds U+0000 at index 0, which cannot be stored: remove it.',
  ],
])("%s cannot be stored", (body, message) => {
  expectError(body, "unstorableText", message);
});

test("the URL of a resource is that of its collection and its id, which is encoded", () => {
  const { path } = plantStore;
  for (const url of [`http://a.example/v1${path}?limit=1`, `http://a.example/v1${path}/`])
    expect(itemUrl(plantStore, url, "a/b ?")).toBe(`http://a.example/v1${path}/a%2Fb%20%3F`);
});

test("only a response that shows all, and nothing else, is the JSON of which an entity tag is made", () => {
  const whole = wholeOf(plantStore);
  const others: Partial<Representation>[] = [
    { hasId: false },
    { fields: [true, false] },
    { absent: ["null", "null"] },
    { createdName: "created_at" },
    { updatedName: "updated_at" },
    { urlName: "url" },
    { constants: ['"kind":"plant"'] },
    { wrapper: ['{"data":', "}"] },
  ];
  // Without a tag: only a response that may have null for it shows that.
  const monstera = plant({ id: 7n, name: "Monstera" });
  const details = { createdAt: 0, changedAt: 0, url: "/plants/7" };
  const written = (own: Partial<Representation>) =>
    responseJson(plantStore, { ...whole, ...own }, monstera, details);
  expect(isPlantJson(whole)).toBe(true);
  expect(written({})).toBe(plantJson(plantStore, monstera));
  // A field that is an object may show some of its members.
  expect(isPlantJson({ ...whole, fields: [true, emptyFilter()] })).toBe(false);
  expect(others.map((own) => isPlantJson({ ...whole, ...own }))).toEqual(others.map(() => false));
  expect(new Set(others.map(written)).size).toBe(others.length);
});
