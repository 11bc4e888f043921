// Descriptions of strangers: what they say is what happens, and what is not served or not checked is
// said.

import { expect, test } from "bun:test";
import { plantJson } from "../../../src/contract/plant.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { parseExactJson, toExactJson } from "../../../src/json/exact-json.ts";
import { readSingle } from "../../support/contracts.ts";
import {
  accepts,
  jsonOf,
  objectOf,
  parsed,
  readThings,
  refusalOf,
  thingsDocument,
} from "../../support/descriptions.ts";
import { expectProcessorMs } from "../../support/processes.ts";

const text = { type: "string" };
const body = (members: string) => `{"id":1,"name":"n"${members === "" ? "" : `,${members}`}}`;
const withField = (schema: unknown, version = "3.1.0", schemas = {}) =>
  readThings({ properties: { name: text, f: schema }, version, schemas });

test.each<[what: string, field: object, value: (index: number) => string]>([
  ["numbers", { type: "number" }, () => "1.25"],
  ["JSON", {}, () => `[${"1,".repeat(9_000)}1]`],
])("a megabyte of %s is parsed in one pass", async (_, field, value) => {
  const names = Array.from({ length: 50 }, (_, index) => `f${index}`);
  const collection = await readThings({ properties: Object.fromEntries(names.map((name) => [name, field])) });
  const members = names.map((name, index) => `"${name}":${value(index)}`).join(",");
  const json = `{"id":1,${members},"x":"${"x".repeat(Math.max(0, 2 ** 20 - members.length - 20))}"}`;
  expect(accepts(collection, json)).toBeTrue();
  expectProcessorMs(500, () => parsed(collection, json));
});

test("decimals and large integers are exact inside arrays and objects", async () => {
  const prices = await withField({
    type: "array",
    items: { type: "object", properties: { price: { type: "number", multipleOf: 0.01 } } },
  });
  for (const price of ["19.99", "4.35", "0.29"])
    expect([price, accepts(prices, body(`"f":[{"price":${price}}]`))]).toEqual([price, true]);
  expect(accepts(prices, body('"f":[{"price":19.999}]'))).toBeFalse();
  const unique = await withField({ type: "array", uniqueItems: true });
  expect(accepts(unique, body('"f":[9007199254740993,9007199254740992]'))).toBeTrue();
  expect(accepts(unique, body('"f":[1,1.0]'))).toBeFalse();
});

test("a discriminator chooses the schema of a body, whose properties are kept", async () => {
  const kind = { type: "string" };
  const thing = {
    ...objectOf({ id: { type: "integer" }, kind }, ["id", "kind"]),
    discriminator: { propertyName: "kind", mapping: { cat: "#/components/schemas/Cat" } },
  };
  const cat = {
    allOf: [{ $ref: "#/components/schemas/Thing" }, objectOf({ claws: { type: "integer" } }, ["claws"])],
  };
  const collection = await readThings({
    version: "3.0.3",
    body: { $ref: "#/components/schemas/Thing" },
    schemas: { Thing: thing, Cat: cat },
  });
  const stored = parsed(collection, '{"id":1,"kind":"cat","claws":18}');
  expect(plantJson(collection, stored as never)).toBe('{"id":1,"kind":"cat","claws":18}');
  expect(parsed(collection, '{"id":1,"kind":"cat"}')).toContain('the member "claws"');
  expect(parsed(collection, '{"id":1,"kind":"dog"}')).toContain('"kind" must be one of "cat"');
});

test("a password that only clients send does not keep the list and the get from being served", async () => {
  const schema = objectOf({ id: { type: "integer" }, password: { type: "string", writeOnly: true } }, [
    "id",
    "password",
  ]);
  const { operations } = await readThings({
    body: schema,
    collection: { get: { responses: { 200: jsonOf({ type: "array", items: schema }) } } },
    item: { get: { responses: { 200: jsonOf(schema) } } },
  });
  expect(Object.keys(operations)).toEqual(["create", "list", "get"]);
  expect([operations.get?.response?.fields, operations.create.response?.fields]).toEqual([[false], [false]]);
});

test.each<[what: string, described: Parameters<typeof readThings>[0]]>([
  [
    "a recursive property of an error",
    {
      post: {
        responses: { 200: { description: "ok" }, 400: jsonOf({ $ref: "#/components/schemas/Error" }) },
      },
      schemas: {
        Error: objectOf(
          { message: text, details: { type: "array", items: { $ref: "#/components/schemas/Error" } } },
          ["message"],
        ),
      },
    },
  ],
  ["another file in a GET", { item: { get: { responses: { 200: jsonOf({ $ref: "other.yaml#/Thing" }) } } } }],
  [
    "a reference in an extension",
    { body: { ...objectOf({ id: text, name: { ...text, "x-doc": { $ref: "y.yaml" } } }, ["id"]) } },
  ],
  ["an extension among the paths", { more: { "x-a": 1 } }],
  [
    "a recursive property of the body",
    {
      body: { $ref: "#/components/schemas/Thing" },
      schemas: {
        Thing: objectOf(
          { id: text, children: { type: "array", items: { $ref: "#/components/schemas/Thing" } } },
          ["id"],
        ),
      },
    },
  ],
  ["nothing but an id", { properties: {} }],
  [
    "a whole body with alternatives",
    {
      body: {
        oneOf: [objectOf({ id: text, a: text }, ["id", "a"]), objectOf({ id: text, b: text }, ["id", "b"])],
      },
    },
  ],
])("%s does not keep the create from being served", async (_, described) => {
  expect(await refusalOf(described)).toBe("served");
});

test("an extension among the paths is no path", async () => {
  const document = thingsDocument({});
  const paths = { ...(document.paths as object), "x-note": { $ref: "nowhere" } };
  expect((await readSingle({ text: JSON.stringify({ ...document, paths }) })).path).toBe("/things");
});

test("numbers of a description keep their digits, where it is checked, filled in and served", async () => {
  const schema =
    '{"type":"integer","minimum":9007199254740993,"maximum":9223372036854775807,"default":9007199254740993,"example":9007199254740993}';
  const collection = await withField(parseExactJson(schema));
  const contractWithDefault = await readThings({
    properties: { f: parseExactJson(schema) },
    required: ["f"],
  });
  expect(contractWithDefault.fields[0]?.fill).toBe(9007199254740993n);
  expect([
    accepts(collection, body('"f":9007199254740993')),
    accepts(collection, body('"f":9007199254740992')),
  ]).toEqual([true, false]);
  const served = toExactJson(servedDocument(collection, []));
  expect(served).toContain('"maximum":9223372036854775807');
  expect(served).toContain('"example":9007199254740993');
  const constant = await withField(parseExactJson('{"const":9007199254740993}'));
  expect([
    accepts(constant, body('"f":9007199254740993')),
    accepts(constant, body('"f":9007199254740992')),
  ]).toEqual([true, false]);
  const large = await withField(parseExactJson('{"type":"integer","maximum":1000000000000000000}'));
  expect([
    accepts(large, body('"f":1000000000000000000')),
    accepts(large, body('"f":1000000000000000001')),
  ]).toEqual([true, false]);
});

test.each<[what: string, schema: object, version: string]>([
  ["anyOf", { anyOf: [{ type: "string", maxLength: 9 }, { type: "null" }] }, "3.1.0"],
  ["oneOf", { oneOf: [{ type: "string", maxLength: 9 }, { type: "null" }] }, "3.1.0"],
  ["nullable beside allOf", { nullable: true, allOf: [{ $ref: "#/components/schemas/Text" }] }, "3.0.3"],
  ["nullable", { nullable: true, type: "string", maxLength: 9 }, "3.0.3"],
])("a text or null by %s is a text that may be null", async (_, schema, version) => {
  const collection = await readThings({
    properties: { f: schema },
    required: ["f"],
    version,
    schemas: { Text: { type: "string", maxLength: 9 } },
  });
  const [field] = collection.fields;
  expect([field?.type.kind, field?.type.input, collection.titleField?.name]).toEqual([
    { name: "text", isNullable: true },
    "text",
    "f",
  ]);
  expect(parsed(collection, '{"id":1,"f":"\\u00e9"}')).toEqual(parsed(collection, '{"id":1,"f":"é"}'));
  expect(parsed(collection, '{"id":1,"f":null}')).toEqual({ id: 1n, values: [null] });
  expect(accepts(collection, '{"id":1,"f":"0123456789"}')).toBeFalse();
});

test("numbers and dates that may be null are numbers and dates", async () => {
  const collection = await readThings({
    properties: {
      n: { anyOf: [{ type: "integer", minimum: 1 }, { type: "null" }] },
      price: { anyOf: [{ type: "number", multipleOf: 0.01 }, { type: "null" }] },
      due: { anyOf: [{ type: "string", format: "date" }, { type: "null" }] },
    },
  });
  expect(collection.fields.map(({ type }) => [type.kind, type.input])).toEqual([
    [{ name: "integer", isNullable: true }, "number"],
    [{ name: "decimal", fractionDigits: 2, isNullable: true }, "number"],
    [{ name: "text", isNullable: true }, "text"],
  ]);
  expect(parsed(collection, '{"id":1,"n":5,"price":19.9,"due":"2026-11-28"}')).toEqual({
    id: 1n,
    values: [5n, "19.90", "2026-11-28"],
  });
  for (const wrong of ['"n":0', '"price":1.999', '"due":"2026-13-01"'])
    expect(accepts(collection, `{"id":1,${wrong}}`)).toBeFalse();
});

test("an enum of constants that may be null takes null", async () => {
  const level = { type: "integer", oneOf: [{ const: 1 }, { const: 2 }] };
  const things = await readThings({ properties: { level: { oneOf: [{ type: "null" }, level] } } });
  const taken = ["null", "1", "3"].map((value) => accepts(things, `{"id":1,"level":${value}}`));
  expect(taken).toEqual([true, true, false]);
});

test.each<[what: string, described: Parameters<typeof readThings>[0], note: RegExp]>([
  [
    "a query of 3.2",
    { version: "3.2.0", collection: { query: { responses: {} } } },
    /QUERY \/things is not served/,
  ],
  [
    "an additional operation of 3.2",
    { version: "3.2.0", collection: { additionalOperations: { COPY: { responses: {} } } } },
    /COPY \/things is not served/,
  ],
  [
    "servers of an operation",
    { post: { servers: [{ url: "/v2" }] } },
    /the servers of an operation are not used/,
  ],
  [
    "a server variable without a default",
    { more: { servers: [{ url: "https://a.example/{version}" }] } },
    /its variable version has no default/,
  ],
  [
    "a default below the first level",
    { properties: { box: { type: "array", items: objectOf({ size: { type: "integer", default: 1 } }) } } },
    /the defaults of the members of "box" are not stored/,
  ],
  [
    "the roles of a bearer token",
    {
      more: {
        security: [{ o: ["gardener"] }],
        components: { securitySchemes: { o: { type: "http", scheme: "bearer" } } },
      },
    },
    /the role gardener is not checked/,
  ],
])("%s is noted", async (_, described, note) => {
  const { notes } = await readThings(described);
  expect(notes.join("\n")).toMatch(note);
});

test("YAML has exact integers, and its errors have a line; keys that occur twice are one", async () => {
  const yaml = `openapi: 3.1.0
info: { title: Things, version: "1" }
paths:
  /things:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [id]
              properties:
                id: { type: integer, maximum: 9007199254740993 }
                price: { type: number, maximum: 0.10000000000000000001 }
      responses: { 204: { description: Stored. } }
`;
  const collection = await readSingle({ text: yaml });
  expect(collection.id.schema.maximum).toBe(9007199254740993n);
  expect([
    accepts(collection, '{"id":9007199254740993}'),
    accepts(collection, '{"id":9007199254740994}'),
  ]).toEqual([true, false]);
  expect(accepts(collection, '{"id":1,"price":0.1000000000000000001}')).toBeFalse();
  const failure = (changed: string) =>
    readSingle({ text: changed }).then(String, (error: Error) => error.message);
  expect(await failure(yaml.replace("    post:", "    post:\n   x:"))).toMatch(
    /neither JSON nor YAML: .* at line 5/,
  );
  expect(await failure(yaml.replace("/things:", "/things:\n    post: {}"))).toMatch(/unique at line 6/);
  expect((await readSingle({ text: yaml.replace("3.1.0", "3.1") })).path).toBe("/things");
  // A store keeps it in JSON, so that it need not be read again.
  expect((await readSingle({ text: "openapi: 3.1.0", json: collection.source.json })).id.schema).toEqual(
    collection.id.schema,
  );
});

test("a long chain of references is read in linear time", async () => {
  const length = 3_000;
  const to = (index: number) => ({ $ref: `#/components/schemas/Link${index}` });
  const links = Array.from({ length }, (_, index) => [`Link${index}`, to(index + 1)]);
  const schemas = Object.fromEntries([...links, [`Link${length}`, { type: "string", maxLength: 1 }]]);
  const collection = await readThings({ properties: { name: to(0), other: to(1) }, schemas });
  expect(accepts(collection, '{"id":1,"name":"a","other":"b"}')).toBe(true);
  expect(accepts(collection, '{"id":1,"name":"a","other":"bc"}')).toBe(false);
});

test.each([
  ["keys within each other", "? ".repeat(900), /Map keys must be texts at line 1/],
  ["a key that is a list", "openapi: 3.1.0\n[a, b]: 1\n", /Map keys must be texts at line 2/],
  [
    "a key that occurs again",
    "a: 1\nb: { c: 1, d: 2, c: 3 }\n",
    /Map keys must be unique at line 2, column 18/,
  ],
  [
    "many keys",
    Array.from({ length: 40_000 }, (_, at) => `k${at}: 1`).join("\n"),
    /not an OpenAPI description/,
  ],
])("YAML with %s is read in linear time, or is a sentence", async (_, text, problem) => {
  expect(await readSingle({ text }).then(String, (error: Error) => error.message)).toMatch(problem);
});

test.each([
  ["/things/", "/things/{id}", "/things/{id}"],
  ["/things/", "/things/{thingId}/", "/things/{id}/"],
  ["/things", "/things/{id}/", "/things/{id}/"],
])("the collection %s has the resource %s", async (path, item, wanted) => {
  const { paths, ...document } = thingsDocument({
    item: { get: { responses: { 200: jsonOf({ type: "object" }) } } },
  });
  const { "/things": own, "/things/{id}": one } = paths as Record<string, object>;
  const collection = await readSingle({
    text: JSON.stringify({ ...document, paths: { [path]: own, [item]: one } }),
  });
  expect([collection.path, collection.itemPath, collection.operations.get?.path]).toEqual([
    path,
    wanted,
    wanted,
  ]);
});

test("a patch of JSON operations is no JSON", async () => {
  const patch = {
    requestBody: { content: { "application/json-patch+json": { schema: objectOf({ name: text }) } } },
    responses: { 200: jsonOf(objectOf({ name: text })) },
  };
  const { operations, notes } = await readThings({ item: { patch } });
  expect(operations.change).toBeUndefined();
  expect(notes.join("\n")).toContain("PATCH /things/{id} is not served, as it describes no body of JSON");
});

test.each([["size"], ["per_page"], ["page_size"], ["pageSize"], ["itemsPerPage"]])(
  "%s beside page is the limit",
  async (name) => {
    const parameter = (name: string, schema: object) => ({
      name,
      in: "query",
      schema: { type: "integer", ...schema },
    });
    const { list } = await readThings({
      collection: {
        get: {
          parameters: [parameter("page", {}), parameter(name, { allOf: [{ maximum: 3 }] })],
          responses: { 200: jsonOf({ type: "array", items: { type: "object" } }) },
        },
      },
    });
    expect([list.paging, list.limit.name, list.limit.maximum]).toEqual(["page", name, 3]);
  },
);

test("a body may differ from the response and from those of PUT and PATCH", async () => {
  const collection = await readThings({
    body: objectOf(
      { id: { type: "integer" }, n: { type: "integer", format: "int64" }, owner: { type: "integer" } },
      ["id"],
    ),
    response: objectOf({ id: { type: "integer" }, owner: { type: "object" } }),
    item: {
      patch: {
        requestBody: jsonOf(objectOf({ n: { type: "integer" } })),
        responses: { 200: jsonOf(objectOf({})) },
      },
      get: { responses: { 200: jsonOf(objectOf({ owner: { type: "object" } }, ["owner"])) } },
    },
  });
  expect(collection.operations.change).toBeDefined();
  expect(collection.operations.create.response?.fields).toEqual([false, false]);
  expect(collection.operations.get).toBeUndefined();
  expect(collection.notes.join("\n")).toContain(
    '"owner" is left out of responses, as it has another type there',
  );
  expect(collection.notes.join("\n")).toContain(
    'its response has another type for "owner", which it requires',
  );
});

const headerThings = (header: unknown) => ({
  parameters: [header],
  responses: { 200: jsonOf(objectOf({ id: { type: "integer" }, name: text })) },
});

test("a header field that cannot be read keeps its operation from being served, and refuses a create", async () => {
  const header = {
    name: "X-Tenant",
    in: "header",
    required: true,
    schema: { $ref: "#/components/schemas/Tenant" },
  };
  const { operations, notes } = await readThings({ item: { get: headerThings(header) } });
  expect(Object.keys(operations)).toEqual(["create"]);
  expect(notes).toEqual([
    "GET /things/{id} is not served, as the reference #/components/schemas/Tenant has no target: it " +
      "responds with 501 (at /paths/~1things~1{id}/get)",
  ]);
  expect(await refusalOf({ post: { parameters: [header] } })).toContain(
    "the reference #/components/schemas/Tenant has no target (at /paths/~1things/post/parameters/0/schema)",
  );
});

/** The places of all objects in a description, as the names that lead to them. */
function* placesIn(value: unknown, names: readonly string[] = []): Generator<readonly string[]> {
  if (typeof value !== "object" || value === null) return;
  if (names.length > 0) yield names;
  for (const [name, member] of Object.entries(value)) yield* placesIn(member, [...names, name]);
}

/** A copy with another value at a place. */
function withPart(value: unknown, [name, ...names]: readonly string[], part: unknown): unknown {
  if (name === undefined) return part;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  return Object.assign(copy, { [name]: withPart((copy as Record<string, unknown>)[name], names, part) });
}

test("outside the create and the whole, no dead reference refuses the start", async () => {
  const thing = objectOf({ id: { type: "integer" }, name: text });
  const header = { name: "X-Tenant", in: "header", required: true, schema: text };
  const get = { ...headerThings(header), security: [{ token: [] }] };
  const id = { name: "id", in: "path", required: true, schema: { type: "integer" } };
  const { paths, ...document } = thingsDocument({
    collection: { get: { responses: { 200: jsonOf({ type: "array", items: thing }) } } },
    item: { parameters: [id], get, put: { requestBody: jsonOf(thing), responses: { 204: {} } } },
  });
  const described = {
    ...document,
    paths: { ...(paths as object), "/others": { post: { responses: {} } } },
    components: { securitySchemes: { token: { type: "http", scheme: "bearer" } } },
  };
  const isOptional = ([first, path, method]: readonly string[]) =>
    (first === "paths" && path !== undefined && (path !== "/things" || method === "get")) ||
    method === "token";
  const places = [...placesIn(described)].filter(isOptional);
  expect(places.length).toBeGreaterThan(40);
  for (const place of places) {
    const text = JSON.stringify(withPart(described, place, { $ref: "#/nowhere" }));
    expect([place, (await readSingle({ text })).path]).toEqual([place, "/things"]);
  }
});

test("an operation that is not served may have no responses", async () => {
  const collection = await readThings({ collection: { put: { responses: null } } });
  expect(servedDocument(collection, []).paths["/things"]).toHaveProperty("put.responses.501");
});

test("a pattern for which no example can be checked in time keeps nothing from being read", async () => {
  const name = { type: "string", pattern: "^(?:a?){1000}b{1000}$", minLength: 9_000 };
  const { fields } = await readThings({ properties: { name } });
  expect(fields.map((each) => each.name)).toEqual(["name"]);
});
