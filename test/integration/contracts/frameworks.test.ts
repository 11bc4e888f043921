// What frameworks describe besides lists: ids, responses, statuses and errors.

import { describe, expect, test } from "bun:test";
import { fromJson } from "../../../src/contract/stored-types.ts";
import { toExactJson } from "../../../src/json/exact-json.ts";
import { sentText } from "../../../src/json/sent-json.ts";
import { sandboxOfThings } from "../../support/contract-sandbox.ts";
import { readSingle } from "../../support/contracts.ts";
import {
  type DescribedThings,
  jsonOf,
  objectOf,
  readThings,
  refusalOf,
  thingsDocument,
} from "../../support/descriptions.ts";

const text = { type: "string" };
const integer = { type: "integer" };
const body = objectOf({ name: text }, ["name"]);
const digits = { type: ["integer", "string"], pattern: "^-?(?:0|[1-9]\\d*)$" };

/** An item with a GET, so that a create has a Location. */
const itemWith = (schema: object, more: object = {}, response: object = {}) => ({
  get: {
    parameters: [{ name: "thing_id", in: "path", required: true, schema }],
    responses: { 200: { description: "ok", ...response } },
  },
  ...more,
});

describe("ids", () => {
  test.each([
    ["numbers", { type: "number" }, "int53", /^\d{15,16}$/],
    ["of 32 bits", { type: "integer", format: "int32" }, "1..2147483647", /^\d{1,10}$/],
    ["of a range", { type: "integer", minimum: 1, maximum: 40_000 }, "1..40000", /^\d{1,5}$/],
    ["integers or their digits", { ...digits, format: "int32" }, "1..2147483647", /^\d{1,10}$/],
    ["guids", { ...text, format: "guid" }, "uuid", /^[\da-f-]{36}$/],
    ["with a prefix", { ...text, pattern: "^ses_" }, "ses_:26:upper", /^ses_[\dA-Z]{26}$/],
    [
      "with a prefix and 12 letters",
      { ...text, pattern: "^t-[0-9a-z]{12}$" },
      "t-:12:lower",
      /^t-[\da-z]{12}$/,
    ],
    ["texts with less room", { ...text, maxLength: 20 }, ":20:upper", /^[\dA-Z]{20}$/],
  ] as const)("%s", async (_, schema, format, expected) => {
    const response = objectOf({ id: schema, name: text }, ["id", "name"]);
    await using things = await sandboxOfThings({ body, response });
    expect(things.collection.id.format).toBe(format);
    const ids = new Set<unknown>();
    for (let time = 0; time < 3; time++) {
      const { json } = await things.request("POST", "/things", '{"name":"a"}', {
        "Idempotency-Key": `${time}`,
      });
      ids.add((json as { id: unknown }).id);
      ids.add(((await things.request("POST", "/things", '{"name":"a"}')).json as { id: unknown }).id);
    }
    expect(ids.size).toBe(6);
    for (const id of ids) expect(String(id)).toMatch(expected);
  });

  test("are those of the path where nothing has them, and of the GET", async () => {
    const post = { responses: { 201: { description: "ok" } } };
    await using things = await sandboxOfThings({ body, post, item: itemWith(text) });
    const { status, text: sent, headers } = await things.request("POST", "/things", '{"name":"a"}');
    expect([status, sent, headers.get("content-type")]).toEqual([201, "", null]);
    const location = headers.get("location") ?? "";
    expect((await things.request("GET", location)).json).toEqual({ id: location.slice(8), name: "a" });
    const ofGet = await readThings({
      body,
      post,
      item: itemWith(text, {}, jsonOf(objectOf({ id: integer }))),
    });
    expect(ofGet.id).toMatchObject({ name: "id", format: "int64" });
  });

  test("are taken as digits where a schema says so", async () => {
    const { fields, id } = await readThings({
      body: objectOf({ id: digits, size: digits, weight: { ...digits, type: ["null", ...digits.type] } }, [
        "id",
      ]),
    });
    expect([id.type.kind, ...fields.map(({ type }) => type.kind)]).toEqual([
      { name: "integer" },
      { name: "integer" },
      { name: "integer", isNullable: true },
    ]);
    expect(fromJson(id.type, sentText('"12"'))).toBe(12n);
    expect(fromJson(id.type, sentText('"a"'))).toBeUndefined();
  });
});

describe("responses", () => {
  const response = objectOf({ id: integer, name: text, owner_id: { ...text, format: "uuid" } }, [
    "id",
    "owner_id",
  ]);

  test("that require what nothing fits are a sandbox's, and no server's", async () => {
    expect(await refusalOf({ body, response })).toContain(
      'its response requires "owner_id", which the body does not have',
    );
    await using things = await sandboxOfThings({ body: { ...body }, response });
    const { json } = await things.request("POST", "/things", '{"name":"a"}');
    expect(json).toMatchObject({ name: "a", owner_id: expect.stringMatching(/^[\da-f-]{36}$/) });
    const source = { text: toExactJson(thingsDocument({ body, response })) };
    expect((await readSingle(source, true)).operations.create.response?.constants).toHaveLength(1);
  });

  test("have the defaults of bodies, which are stored", async () => {
    const own = { ...body.properties, level: { ...text, enum: ["low", "high"], default: "low" } };
    const shown = { id: integer, ...own };
    const sent = objectOf({ ...own, size: { ...integer, default: 1 } }, ["name"]);
    await using things = await sandboxOfThings({
      body: sent,
      response: objectOf({ ...shown, size: integer, note: { type: ["string", "null"] } }, [
        "id",
        "level",
        "note",
      ]),
    });
    const { json } = await things.request("POST", "/things", '{"name":"a"}');
    expect(json).toEqual({ id: expect.any(Number), name: "a", level: "low", size: 1, note: null });
  });

  test.each([
    [
      "an envelope",
      objectOf({ success: { const: true }, data: objectOf({ id: integer, name: text }) }, [
        "success",
        "data",
      ]),
    ],
    ["a member", objectOf({ data: objectOf({ id: integer, name: text }) })],
  ])("have the resource in %s", async (_, enveloped) => {
    await using things = await sandboxOfThings({ body, response: enveloped });
    const { json } = await things.request("POST", "/things", '{"name":"a"}');
    expect(json).toMatchObject({ data: { id: expect.any(Number), name: "a" } });
    expect("success" in (json as object)).toBe(enveloped.required.length > 0);
  });

  test.each([
    [{ 202: { description: "ok" } }, 202],
    [{ "2XX": { description: "ok" }, 404: {} }, 200],
    [{ default: { description: "ok" } }, 200],
    [{ 400: {} }, 200],
    [{}, 200],
  ] as const)("to a create that describes %j have a status", async (responses, status) => {
    const post = { responses };
    await using things = await sandboxOfThings({ body: objectOf({ id: integer, name: text }, ["id"]), post });
    expect((await things.request("POST", "/things", '{"id":1,"name":"a"}')).status).toBe(status);
  });

  const thing = objectOf({ id: integer, name: text }, ["id"]);
  test.each([
    [{}, {}],
    [
      objectOf({ message: text, ok: { type: "boolean" } }, ["message"]),
      { message: "The thing was deleted.", ok: true },
    ],
    [thing, { id: 1, name: "a" }],
    [text, "The thing was deleted."],
  ])("to a deletion are as described: %j", async (schema, expected) => {
    const removal = { responses: { 200: { description: "ok", ...jsonOf(schema) } } };
    await using things = await sandboxOfThings({ body: thing, item: itemWith(integer, { delete: removal }) });
    await things.request("POST", "/things", '{"id":1,"name":"a"}');
    expect(await things.request("DELETE", "/things/1")).toMatchObject({ status: 200, json: expected });
    expect((await things.request("GET", "/things/1")).status).toBe(404);
  });

  test("have the words of a title where the name of the schema says nothing", async () => {
    const schemas = { "def-0": { ...thing, title: "Box" }, "def-1": body };
    const described = {
      body: { $ref: "#/components/schemas/def-1" },
      response: { $ref: "#/components/schemas/def-0" },
    };
    const { words } = await readThings({ ...described, schemas });
    expect(words).toMatchObject({ one: "box", body: "new box" });
  });
});

describe("errors", () => {
  const thing = objectOf({ id: integer, name: text }, ["id"]);
  const withErrors = (responses: object): DescribedThings => ({
    body: thing,
    post: { responses: { 200: { description: "ok", ...jsonOf(thing) }, ...responses } },
  });
  const details = { type: "object", additionalProperties: { type: "array", items: text } };

  test.each([
    [
      "NestJS",
      objectOf({ statusCode: { type: "number" }, message: { type: "array", items: text } }, [
        "statusCode",
        "message",
      ]),
      { statusCode: 400, message: [expect.any(String)] },
    ],
    ["Rails", objectOf({ errors: details }), { errors: { body: [expect.any(String)] } }],
    [
      "Laravel",
      objectOf({ message: text, errors: details }, ["message", "errors"]),
      { message: expect.any(String), errors: { body: [expect.any(String)] } },
    ],
    [
      "Zod",
      objectOf(
        {
          success: { type: "boolean", enum: [false] },
          error: objectOf(
            {
              issues: {
                type: "array",
                items: objectOf({ path: { type: "array", items: text }, message: text }, ["path"]),
              },
            },
            ["issues"],
          ),
        },
        ["success", "error"],
      ),
      { success: false, error: { issues: [{ path: ["body"], message: expect.any(String) }] } },
    ],
    [
      "JSON:API",
      objectOf({ errors: { type: "array", items: objectOf({ status: text, detail: text }, ["status"]) } }, [
        "errors",
      ]),
      { errors: [{ status: "400", detail: expect.any(String) }] },
    ],
    [
      ".NET",
      objectOf(
        {
          title: { type: ["string", "null"] },
          status: { ...digits, type: ["null", ...digits.type] },
          detail: { type: ["string", "null"] },
          trace: { type: ["string", "null"], format: "uri" },
        },
        ["trace"],
      ),
      { title: expect.any(String), status: 400, detail: expect.any(String), trace: null },
    ],
  ] as const)("as %s describes them", async (_, schema, expected) => {
    await using things = await sandboxOfThings(withErrors({ 400: jsonOf(schema) }));
    const { status, json } = await things.request("POST", "/things", '{"name":1}');
    expect([status, json]).toEqual([400, expected] as never);
    expect((await things.request("POST", "/things", "{}", { Prefer: "code=400" })).json).toEqual(
      expected as never,
    );
  });

  test("of headers that are required", async () => {
    const header = (name: string, schema: object) => ({ name, in: "header", required: true, schema });
    const removal = (responses: object) => ({
      delete: {
        parameters: [header("If-Match", text)],
        responses: { 204: { description: "ok" }, ...responses },
      },
    });
    const described = (responses: object): DescribedThings => ({
      body: thing,
      post: {
        parameters: [header("X-Tenant", { ...integer, minimum: 1 })],
        responses: { 200: jsonOf(thing) },
      },
      item: itemWith(integer, removal(responses)),
    });
    await using things = await sandboxOfThings(described({ 428: { description: "no" } }));
    const create = async (headers: Record<string, string>) =>
      (await things.request("POST", "/things", '{"id":1}', headers)).status;
    expect([await create({}), await create({ "X-Tenant": "0" }), await create({ "X-Tenant": "2" })]).toEqual([
      400, 400, 200,
    ]);
    expect((await things.request("DELETE", "/things/1")).status).toBe(428);
    const etag = (await things.request("GET", "/things/1")).headers.get("etag") ?? "";
    expect((await things.request("DELETE", "/things/1", undefined, { "If-Match": etag })).status).toBe(204);
    await using others = await sandboxOfThings(described({}));
    expect((await others.request("DELETE", "/things/1")).status).toBe(400);
    expect(others.collection.notes).toEqual([]);
  });

  test("of parameters that have no effect: they are checked, and named at the start", async () => {
    const query = (name: string, schema: object, required = false) => ({
      name,
      in: "query",
      required,
      schema,
    });
    const pretty = query("pretty", { type: "boolean" });
    await using things = await sandboxOfThings({
      body: thing,
      post: { parameters: [pretty], responses: { 200: jsonOf(thing) } },
      item: itemWith(integer, {
        get: {
          parameters: [query("view", { enum: ["all", "few"] }, true)],
          responses: { 200: jsonOf(thing) },
        },
        delete: { parameters: [pretty, query("at", { type: "array" })], responses: { 204: {} } },
      }),
    });
    const status = async (method: string, path: string, body?: string) =>
      (await things.request(method, path, body)).status;
    expect(await status("POST", "/things?pretty=x", '{"id":1}')).toBe(400);
    expect(await status("POST", "/things?pretty=true", '{"id":1}')).toBe(200);
    const views = ["", "?view=none", "?view=few"].map((query) => status("GET", `/things/1${query}`));
    expect(await Promise.all(views)).toEqual([400, 400, 200]);
    expect(await status("DELETE", "/things/1?pretty=1")).toBe(400);
    expect(await status("DELETE", "/things/1?at=1")).toBe(204);
    expect(things.collection.notes.join()).toContain(
      "the query parameter pretty of POST /things is not served",
    );
  });

  test("of a PUT that need not have what a create must: it leaves it as it is", async () => {
    const full = objectOf({ id: integer, name: text, size: integer }, ["id", "name"]);
    const some = objectOf({ name: text, size: integer });
    await using things = await sandboxOfThings({
      body: full,
      item: itemWith(integer, {
        get: { responses: { 200: jsonOf(full) } },
        put: { requestBody: jsonOf(some), responses: { 200: jsonOf(full) } },
      }),
    });
    await things.request("POST", "/things", '{"id":1,"name":"a","size":2}');
    expect((await things.request("PUT", "/things/1", '{"size":3}')).json).toEqual({
      id: 1,
      name: "a",
      size: 3,
    });
    expect((await things.request("PUT", "/things/1", '{"name":"b"}')).json).toEqual({ id: 1, name: "b" });
  });

  test("of tokens: the word that Django REST sends before them is taken", async () => {
    const tokenAuth = {
      type: "apiKey",
      in: "header",
      name: "Authorization",
      description: 'Token-based, with required prefix "Token"',
    };
    const more = { security: [{ tokenAuth: [] }], components: { securitySchemes: { tokenAuth } } };
    await using things = await sandboxOfThings({ body: thing, more });
    const create = async (Authorization: string) =>
      (await things.request("POST", "/things", '{"id":1}', { Authorization })).status;
    for (const word of ["Token ", "token ", "", "Bearer "])
      expect(await create(word + things.token)).toBe(200);
    expect(await create("Token wrong")).toBe(401);
    expect((await things.request("GET", "/openapi.json")).text).toContain("Authorization: Token ");
  });

  test("of media types: utf8 is UTF-8", async () => {
    await using things = await sandboxOfThings({ body: thing });
    const sent = { "Content-Type": "application/json; charset=utf8" };
    expect((await things.request("POST", "/things", '{"id":1}', sent)).status).toBe(200);
  });
});
