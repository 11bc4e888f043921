// Reading a description: the words, the fields, the operations, the notes, and refusals.

import { expect, test } from "bun:test";
import { bearerAccess } from "../../../src/contract/access.ts";
import { ownErrorShape } from "../../../src/contract/error-format.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { readSingle } from "../../support/contracts.ts";
import { expectProcessorMs } from "../../support/processes.ts";

type Json = Record<string, unknown>;

const json = (schema: Json) => ({
  content: { "application/json": { schema } as { schema: Json } } as Json & {
    "application/json": { schema: Json };
  },
});

/** A description with one collection, whose schema has these properties besides the id. */
function description(properties: Json, changes: Json = {}, required: readonly string[] = []) {
  const schema = {
    type: "object",
    required: ["id", ...required],
    properties: { id: { type: "integer" }, ...properties },
  };
  const post = { requestBody: json(schema), responses: { 200: { description: "ok", ...json(schema) } } };
  return {
    openapi: "3.1.0",
    info: { title: "Shop", version: "1" },
    security: [{ b: [] }],
    paths: { "/train-trips": { post } },
    components: { securitySchemes: { b: { type: "http", scheme: "bearer" } } },
    ...changes,
  };
}

const read = (document: unknown) =>
  readSingle({ text: typeof document === "string" ? document : JSON.stringify(document) });

const refusal = (document: unknown): Promise<string> =>
  read(document).then(
    () => "served",
    ({ exitCode, message }) => `${exitCode}: ${message}`,
  );

const name = { name: { type: "string" } };

test("words come from the title, the path and the names of schemas", async () => {
  expect((await read(description(name))).words).toEqual({
    one: "train trip",
    many: "train trips",
    body: "new train trip",
  });
  const named = description(name);
  const { post } = named.paths["/train-trips"];
  const schemas = { CreateTripRequest: post.requestBody.content["application/json"].schema };
  const body = json({ $ref: "#/components/schemas/CreateTripRequest" });
  const document = {
    ...named,
    paths: {
      "/v1/trips": { post: { ...post, requestBody: body, responses: { 201: { description: "", ...body } } } },
    },
    components: { ...named.components, schemas },
  };
  const { words, path, operations } = await read(document);
  expect([words.one, words.many, words.body, path]).toEqual([
    "trip",
    "trips",
    "CreateTripRequest",
    "/v1/trips",
  ]);
  expect(operations.create).toMatchObject({ operationId: "createTrip", status: 201, access: bearerAccess });
});

test("a path whose percent-encoding is malformed gives the words as it is", async () => {
  const { paths, ...rest } = description(name);
  const { words } = await read({ ...rest, paths: { "/50%-offers": paths["/train-trips"] } });
  expect(words.many).toBe("50% offers");
});

test("YAML, OpenAPI 3.0, a byte order mark and server variables are read", async () => {
  const yaml = Bun.YAML.stringify(
    description(
      { size: { type: "integer", minimum: 0, exclusiveMinimum: true, nullable: true } },
      {
        openapi: "3.0.3",
        servers: [
          { url: "https://{host}/{base}/", variables: { host: { default: "x" }, base: { default: "v1" } } },
        ],
      },
    ),
  );
  const { fields, basePath } = await read(`\ufeff${yaml}`);
  expect(basePath).toBe("/v1");
  expect(fields[0]?.type.expected).toBe("an integer (int64), above 0 or null");
});

test.each([
  ["http://[", ""],
  ["urn:foo", ""],
  ["/:v/*/", "/:v/*"],
  ["http://x//v1", "/v1"],
])("the base path of the server %s is %p", async (url, wanted) => {
  const { basePath, notes } = await read(description(name, { servers: [{ url }] }));
  expect(basePath).toBe(wanted);
  const note = `the server ${url} is not used, as its URL has no path (at /servers/0/url)`;
  expect(notes).toEqual(wanted === "" ? [note] : []);
});

test.each([
  ["/50%-offers", "/50%25-offers"],
  ["/50%25-offers", "/50%25-offers"],
  ["/caf\u00e9", "/caf%C3%A9"],
  ["/caf%c3%a9/a%2Fb", "/caf%c3%a9/a%2Fb"],
])("requests of %s have the path %s", async (described, wanted) => {
  const { paths, ...rest } = description(name);
  const { path, describedPath } = await read({ ...rest, paths: { [described]: paths["/train-trips"] } });
  expect([path, describedPath]).toEqual([wanted, described]);
});

test("titles and groups are the first texts, or those that are named", async () => {
  const properties = {
    n: { type: "integer" },
    a: { type: "string" },
    b: { type: "string" },
    c: { type: "string", enum: ["x"] },
  };
  const first = await read(description(properties, {}, ["b"]));
  expect([first.titleField?.name, first.groupField?.name]).toEqual(["b", "a"]);
  const document = description(properties, {}, ["b"]);
  const { schema } = document.paths["/train-trips"].post.requestBody.content["application/json"];
  Object.assign(schema, { "x-plantstore-title": "a", "x-plantstore-group": "c" });
  const named = await read(document);
  expect([named.titleField?.name, named.groupField?.name]).toEqual(["a", "c"]);
  Object.assign(schema, { "x-plantstore-title": "n" });
  expect(await refusal(document)).toContain("x-plantstore-title must name a text of the resource");
});

test("an example that cannot be stored is none", async () => {
  const { fields } = await read(description({ a: { type: "string", examples: ["x\0", "\ud800", "y"] } }));
  expect(fields.map(({ example }) => example)).toEqual(["y"]);
});

test("any names are fields, each with a column of its own", async () => {
  const names = [
    "order",
    "user-name",
    "Größe",
    "Name",
    "name",
    "created_at",
    "creator",
    "x_a",
    "rowid",
    "a b",
    "",
    "n".repeat(300),
  ];
  const properties = Object.fromEntries(names.map((each) => [each, { type: "string" }]));
  const { fields } = await read(
    description({ ...properties, constructor: { type: "string" }, ["__proto__"]: { type: "string" } }),
  );
  expect(fields.map((field) => field.name)).toEqual([...names, "constructor", "__proto__"]);
  const columns = fields.map(({ columnName }) => columnName.toLowerCase());
  expect(new Set(columns).size).toBe(columns.length);
  for (const column of columns) expect(column).toMatch(/^[a-z][a-z0-9_]{0,62}$/);
  expect(columns).not.toContain("created_at");
});

test("what is not served or not checked is noted with its pointer", async () => {
  const document = description(
    { a: { type: "string", format: "ipvfuture" }, b: { type: "string", readOnly: true } },
    { webhooks: { sent: {} }, security: [{ basic: [] }] },
  );
  const { post } = document.paths["/train-trips"];
  Object.assign(post, { callbacks: { done: {} }, parameters: [{ name: "trace", in: "header" }] });
  Object.assign(post.requestBody.content, { "application/xml": {} });
  Object.assign(document.paths["/train-trips"], { get: { responses: { 200: json({ type: "object" }) } } });
  const { notes, otherOperations, fields } = await read(document);
  expect(fields.map((field) => field.name)).toEqual(["a"]);
  expect(otherOperations).toMatchObject([{ method: "GET", path: "/train-trips" }]);
  const at = "/paths/~1train-trips/post";
  const schema = `${at}/requestBody/content/application~1json/schema`;
  expect(notes).toEqual([
    `the format ipvfuture is not checked (at ${schema}/properties/a)`,
    `"b" is readOnly, and is not kept (at ${schema}/properties/b)`,
    "the security of basic is not accepted; a bearer token is needed instead (at /security)",
    `callbacks are not sent (at ${at}/callbacks)`,
    `the header parameter trace of POST /train-trips is not served (at ${at}/parameters/0)`,
    `a body of application/xml is not read (at ${at}/requestBody/content/application~1xml)`,
    "webhooks are not sent (at /webhooks)",
    "GET /train-trips is not served, as its response is neither an array nor an object with one: it responds with 501 (at /paths/~1train-trips/get)",
  ]);
});

test("the list, the item and its deletion are served if their responses are such, and others noted", async () => {
  const object = json({ type: "object", properties: { id: { type: "integer" } } });
  const list = json({ type: "array", items: { type: "object" } });
  const { paths } = description(name);
  const withOperations = (get: Json, item: Json) =>
    read(
      description(name, {
        paths: { "/train-trips": { ...paths["/train-trips"], get }, "/train-trips/{tripId}": item },
      }),
    );
  const served = await withOperations(
    { operationId: "findTrips", responses: { 200: list } },
    {
      get: { responses: { 200: object } },
      delete: { responses: { 204: { description: "gone" } } },
      put: { responses: { 200: object } },
    },
  );
  expect(served.operations).toMatchObject({
    create: { operationId: "createTrainTrip", status: 200, access: bearerAccess },
    list: { operationId: "findTrips", status: 200, access: bearerAccess },
    get: { operationId: "getTrainTrip", status: 200, access: bearerAccess },
    delete: { operationId: "deleteTrainTrip", status: 204, access: bearerAccess },
  });
  expect(served.otherOperations).toMatchObject([{ method: "PUT", path: "/train-trips/{tripId}" }]);
  const unserved = await withOperations(
    { responses: { 200: object } },
    { get: { responses: { 200: list } }, delete: { responses: { 304: object } } },
  );
  expect(Object.keys(unserved.operations)).toEqual(["create"]);
  expect(unserved.otherOperations).toHaveLength(3);
});

test("the parts of an allOf are merged, and all hold where they contradict each other", async () => {
  const { fields } = await read(
    withName(
      { allOf: [{ $ref: "#/components/schemas/Name" }, { maxLength: 9 }] },
      { Name: { type: "string", minLength: 2 } },
    ),
  );
  expect(fields[0]?.type.expected).toBe("a string of 2 to 9 characters");
  const part = (properties: Json, required: readonly string[]) => ({ type: "object", properties, required });
  const whole = (...parts: readonly Json[]) => {
    const document = description(name);
    const { content } = document.paths["/train-trips"].post.requestBody;
    content["application/json"].schema = { allOf: parts };
    return document;
  };
  const id = part({ id: { type: "integer" } }, ["id"]);
  const merged = await read(whole(id, part({ size: { type: "integer" }, ...name }, ["name"])));
  expect(merged.fields.map((field) => [field.name, field.isRequired])).toEqual([
    ["size", false],
    ["name", true],
  ]);
  const { id: merger } = await read(whole(id, part({ id: { type: "integer", minimum: 5 }, ...name }, [])));
  expect([merger.type.parse("4"), merger.type.parse("5")]).toEqual([undefined, 5n]);
});

test("properties may have the names of keywords, and what stands beside a reference counts", async () => {
  const properties = {
    default: { $ref: "#/components/schemas/Name" },
    enum: { $ref: "#/components/schemas/Name", allOf: [{ maxLength: 9 }] },
    nullable: { type: "object", properties: { $ref: { type: "string" }, default: true } },
  };
  const schemas = { Name: { type: "string", minLength: 2 } };
  const expected = async (openapi: string) =>
    (await read({ ...description(properties), openapi, components: { schemas } })).fields.map(
      ({ type }) => type.expected,
    );
  const object = "an object that the contract's schema accepts";
  const long = "a string of at least 2 characters";
  expect(await expected("3.1.0")).toEqual([long, "a string of 2 to 9 characters", object]);
  expect(await expected("3.0.0")).toEqual([long, long, object]);
});

const other = { "/b": description(name).paths["/train-trips"] };
const withId = (
  id: Json | null | undefined,
  required = ["id"],
  responses: Json = { 201: { description: "ok" } },
) => {
  const document = description(name);
  const { schema } = document.paths["/train-trips"].post.requestBody.content["application/json"];
  return {
    ...document,
    paths: {
      "/a": {
        post: {
          requestBody: json({
            ...schema,
            required,
            properties: { ...(id !== undefined && { id }), ...name },
          }),
          responses,
        },
      },
    },
  };
};
const withCode = (schema: Json) => {
  const { paths, ...document } = withId(undefined, []);
  const item = { get: { parameters: [{ name: "code", in: "path", required: true, schema }] } };
  return { ...document, paths: { ...paths, "/a/{code}": item } };
};
const withName = (schema: Json, schemas: Json = {}) => ({
  ...description({ name: schema }),
  components: { schemas },
});

test.each<[what: string, document: unknown, reason: string]>([
  [
    "no OpenAPI",
    "{}",
    'it is not an OpenAPI description; it must have "openapi" with version 3.0, 3.1 or 3.2',
  ],
  ["OpenAPI 2", { swagger: "2.0" }, "it is OpenAPI 2.0; it must be version 3.0, 3.1 or 3.2"],
  ["OpenAPI 3.3", { openapi: "3.3.0" }, "it is OpenAPI 3.3.0; it must be version 3.0, 3.1 or 3.2"],
  ["neither JSON nor YAML", "a: [", "it is neither JSON nor YAML:"],
  ["a number that JSON has not", "a: .inf", "it is neither JSON nor YAML: .inf is no number of JSON"],
  ["too long", " ".repeat(2 ** 25 + 1), "it is longer than 33554432 characters"],
  ["no text", "", "it is not an OpenAPI description"],
  ["no POST", { openapi: "3.1.0", paths: {} }, "it has no POST whose body is the resource"],
  ...[["things"], ["//things"]].map(([path = ""]): [string, unknown, string] => [
    `the path ${path}`,
    description(name, { paths: { [path]: other["/b"] } }),
    "a path must begin with one /",
  ]),
  [
    "a path of another operation that no request has",
    description(name, { paths: { ...other, "/b/\ud800": { get: {} } } }),
    "a path must not hold unpaired surrogates",
  ],
  [
    "several POSTs without a path of one resource",
    description(name, { paths: { "/a": other["/b"], ...other } }),
    "there is no path of one resource, such as /a/{id}, beside it",
  ],
  [
    "an id that is a boolean",
    withId({ type: "boolean" }),
    "an id must be an integer or a string, but is a boolean",
  ],
  ["an id without a schema", withId(null), 'the property "id" must have a schema'],
  ["no id", withId(undefined, []), "the resource of POST /a must have an id, in the body or in the response"],
  [
    "a pattern beside a POST that is no create",
    description(
      { name: { type: "string", pattern: "(?=a)b" } },
      {
        paths: {
          "/login": {
            post: {
              responses: { 200: { description: "" } },
              requestBody: json({ type: "object", properties: name }),
            },
          },
          ...description({ name: { type: "string", pattern: "(?=a)b" } }).paths,
        },
      },
    ),
    "the pattern (?=a)b is not one of RE2",
  ],
  [
    "an id that is optional and has a pattern of its own",
    withId({ type: "string", pattern: "^[aeiou]+$" }, []),
    "the id of POST /a must be required, or one that the server can make",
  ],
  [
    "an id that only the path has and that the server cannot make",
    withCode({ type: "string", maxLength: 5 }),
    "the id of POST /a must be required, or one that the server can make",
  ],
  [
    "no success but another status",
    withId({ type: "integer" }, ["id"], { 205: { description: "" } }),
    "it describes no response 200 or 201 or 202 or 204",
  ],
  [
    "a remote reference",
    withName({ $ref: "other.yaml#/a" }),
    "the reference other.yaml#/a leads to nothing in the folder of the contract or below it",
  ],
  [
    "a dead reference",
    withName({ $ref: "#/components/schemas/A" }),
    "the reference #/components/schemas/A has no target",
  ],
  [
    "a dead reference beside a description",
    withName({ $ref: "#/components/schemas/A", description: "Dead." }),
    "has no target (at /paths/~1train-trips/post/requestBody/content/application~1json/schema/properties/name)",
  ],
  [
    "a cycle of references",
    withName({ $ref: "#/components/schemas/A" }, { A: { $ref: "#/components/schemas/A" } }),
    "is a cycle",
  ],
  [
    "a pattern that is not linear",
    description({ name: { type: "string", pattern: "(a)\\1" } }),
    "is not one of RE2",
  ],
  ["a required property that is none", description(name, {}, ["x"]), '"x" is required, but is no property'],
])("%s is refused in a sentence", async (_, document, reason) => {
  const refused = await refusal(document);
  expect(refused).toStartWith("2: the contract cannot be served: ");
  expect(refused).toContain(reason);
  expect(refused.length).toBeLessThan(400);
});

test("the id is that of the item's path, or id, and the server chooses one that a body need not have", async () => {
  const idOf = async (id: Json | undefined, returned: Json, changes: Json = {}, required: string[] = []) => {
    const schema = { type: "object", required, properties: { ...(id && { petId: id }), ...name } };
    const response = json({ type: "object", properties: returned });
    const post = { requestBody: json(schema), responses: { 201: { description: "ok", ...response } } };
    const read = await readSingle({
      text: JSON.stringify(
        description(name, { paths: { "/pets": { post }, "/pets/{petId}": {} }, ...changes }),
      ),
    });
    const { name: idName, isRequired, isAccepted } = read.id;
    return [idName, isRequired, isAccepted, read.operations.create.response?.hasId, read.requiresKey];
  };
  const id = { type: "integer", format: "int64" };
  expect(await idOf(id, {}, {}, ["petId"])).toEqual(["petId", true, true, false, false]);
  expect(await idOf(id, { petId: id })).toEqual(["petId", false, true, true, false]);
  expect(await idOf({ ...id, readOnly: true }, { petId: id }, {}, ["petId"])).toEqual([
    "petId",
    false,
    false,
    true,
    false,
  ]);
  expect(await idOf(undefined, { id }, { openapi: "3.2.0" })).toEqual(["id", false, false, true, false]);
});

test("several collections are read, each with its words, its name and its table", async () => {
  const item = (id: string) => ({ get: { parameters: [{ name: id, in: "path" }], responses: {} } });
  const paths = {
    "/v1/special-events": other["/b"],
    "/v1/special-events/{eventId}": item("eventId"),
    "/tokens": other["/b"],
    "/tokens/{id}": item("id"),
    "/a/things": other["/b"],
    "/a/things/{id}": item("id"),
    "/b/things": other["/b"],
    "/b/things/{id}": item("id"),
    "/search": other["/b"],
  };
  const { collections, otherOperations, access, errors } = await readContract({
    text: JSON.stringify(description(name, { paths })),
  });
  expect(collections.map((each) => [each.name, each.table, each.itemPath])).toEqual([
    ["special-events", "v1_special_events", "/v1/special-events/{id}"],
    ["tokens", expect.stringMatching(/^x__tokens_[0-9a-f]{16}$/), "/tokens/{id}"],
    ["a/things", "a_things", "/a/things/{id}"],
    ["b/things", "b_things", "/b/things/{id}"],
  ]);
  expect(otherOperations).toMatchObject([{ method: "POST", path: "/search" }]);
  expect(access).toEqual(bearerAccess);
  expect(errors.shape).toEqual(ownErrorShape);
});

test("a collection that cannot be served is noted, and so is one whose table another one has", async () => {
  const item = { get: { responses: {} } };
  const paths = {
    "/a-b": other["/b"],
    "/a-b/{id}": item,
    "/a_b": other["/b"],
    "/a_b/{id}": item,
    "/c": { post: { requestBody: json({ type: "string" }), responses: {} } },
    "/c/{id}": item,
  };
  const { collections, notes, otherOperations } = await readContract({
    text: JSON.stringify(description(name, { paths })),
  });
  expect(collections.map(({ path }) => path)).toEqual(["/a-b"]);
  expect(otherOperations.map(({ method, path }) => `${method} ${path}`)).toEqual([
    "POST /a_b",
    "GET /a_b/{id}",
    "POST /c",
    "GET /c/{id}",
  ]);
  expect(notes.join("\n")).toContain("POST /a_b is not served, as its table would be that of /a-b");
  expect(notes.join("\n")).toContain("POST /c is not served, as ");
});

test.each<[what: string, make: () => string]>([
  [
    "an alias bomb",
    () =>
      `a0: &a0 [x]\n${Array.from({ length: 40 }, (_, level) => `a${level + 1}: &a${level + 1} [*a${level}, *a${level}]`).join("\n")}`,
  ],
  ["a megabyte of brackets", () => "[".repeat(2 ** 20)],
  ["a megabyte of dashes", () => "- ".repeat(2 ** 19)],
  [
    "a megabyte of nesting in JSON",
    () => `{"openapi":"3.1.0","a":${"[".repeat(500_000)}${"]".repeat(500_000)}}`,
  ],
  ["an alias of itself", () => "openapi: 3.1.0\npaths: &a\n  b: *a\n"],
  [
    "references that double",
    () => JSON.stringify(withName({ $ref: "#/components/schemas/S0" }, doubling(40))),
  ],
])("%s ends in a sentence, soon", async (_, make) => {
  const text = make();
  let refused: Promise<string> | undefined;
  expectProcessorMs(2_000, () => (refused = refusal(text)));
  expect(await refused).toStartWith("2: the contract cannot be served: ");
});

test("the limit of a schema's parts is one for each collection, and there is one for all", async () => {
  const collection = (name: string, schemas: number) => {
    const kinds = Array.from({ length: schemas }, () => ({ $ref: "#/components/schemas/S0" }));
    const kind = { type: "object", properties: { ...kinds } };
    const schema = { type: "object", required: ["id"], properties: { id: { type: "integer" }, kind } };
    const post = { requestBody: json(schema), responses: { 204: { description: "ok" } } };
    return { [`/${name}`]: { post }, [`/${name}/{id}`]: {} };
  };
  const served = async (...paths: object[]) => {
    const components = { schemas: doubling(11) };
    const text = JSON.stringify({ ...description({}), components, paths: Object.assign({}, ...paths) });
    const { collections, notes } = await readContract({ text });
    const ofLimit = notes.filter((note) => note.includes("more than 20000 parts with their references"));
    return [collections.length, ofLimit.length];
  };
  expect(await served(collection("a", 2), collection("b", 2), collection("c", 2))).toEqual([3, 0]);
  expect(await served(collection("a", 2), collection("b", 20))).toEqual([1, 1]);
  const [count = 0] = await served(...Array.from({ length: 40 }, (_, index) => collection(`a${index}`, 2)));
  expect(count).toBeGreaterThan(5);
  expect(count).toBeLessThan(40);
});

/** Schemas each of which has the next one twice. */
function doubling(levels: number): Json {
  return Object.fromEntries(
    Array.from({ length: levels }, (_, level) => {
      const next = { $ref: `#/components/schemas/S${level + 1}` };
      return [
        `S${level}`,
        level === levels - 1 ? { type: "string" } : { type: "object", properties: { a: next, b: next } },
      ];
    }),
  );
}
