// PUT and PATCH whose bodies have schemas of their own, on every engine: a body must fit its schema, and
// what it makes that of the POST.

import { describe, expect, test } from "bun:test";
import { sandboxOfText } from "../../support/contract-sandbox.ts";
import { jsonOf, objectOf, thingsDocument } from "../../support/descriptions.ts";

const text = { type: "string" };
const optional = (schema: object) => ({ anyOf: [schema, { type: "null" }] });
const created = objectOf(
  {
    name: { type: "string", maxLength: 5 },
    note: optional(text),
    count: { type: "integer", format: "int64" },
    secret: { type: "string", writeOnly: true },
  },
  ["name", "note"],
);
const thing = objectOf({ id: { type: "integer", format: "int64" }, ...created.properties }, ["id", "name"]);
const schemas = {
  ThingPatch: {
    ...objectOf({ name: text, note: optional(text), count: { type: "integer", minimum: 0 }, other: text }),
    minProperties: 1,
  },
  ThingUpdate: objectOf({ name: text, note: optional(text) }, ["note"]),
};
const described = {
  body: created,
  response: thing,
  schemas,
  item: {
    get: { responses: { 200: jsonOf(thing) } },
    put: {
      requestBody: jsonOf({ $ref: "#/components/schemas/ThingUpdate" }),
      responses: { 200: jsonOf(thing) },
    },
    patch: {
      parameters: [],
      requestBody: jsonOf({ $ref: "#/components/schemas/ThingPatch" }),
      responses: { 200: jsonOf(thing), 422: jsonOf(objectOf({ detail: text }, ["detail"])) },
    },
  },
};

describe("bodies of their own", () => {
  test("are checked by their schemas, and what they make by that of the create", async () => {
    const document = thingsDocument(described) as { paths: Record<string, unknown> };
    const { "/things/{id}": item, ...others } = document.paths;
    const paths = { ...others, "/things/{thingId}": item };
    await using store = await sandboxOfText(JSON.stringify({ ...document, paths }));
    expect(store.collection.notes.map((note) => note.replace(/ \(at .*/, ""))).toEqual([
      '"other" is not kept',
    ]);
    const first = await store.request("POST", "/things", '{"name":"a","note":"n","count":7,"secret":"s"}');
    const { id } = first.json as { id: number };
    const at = `/things/${/"id":(\d+)/.exec(first.text)?.[1]}`;
    expect([first.status, id > 0, first.text.includes("secret")]).toEqual([200, true, false]);
    const members = async (response: Promise<{ status: number; json: unknown }>) => {
      const { status, json } = await response;
      const { id: _, ...rest } = json as Record<string, unknown>;
      return [status, rest];
    };
    const patch = (body: string) => members(store.request("PATCH", at, body));

    // A required property that may be null is null, and not removed.
    expect(await patch('{"note":null}')).toEqual([200, { name: "a", note: null, count: 7 }]);
    expect(await patch('{"count":null}')).toEqual([200, { name: "a", note: null }]);
    const refused = (reason: string) => [422, { detail: expect.stringContaining(reason) }];
    expect(await patch("{}")).toEqual(
      refused("The body is not a ThingPatch: it must be an object of at least 1 member"),
    );
    expect(await patch('{"count":-1}')).toEqual(refused('"count" must be an integer, at least 0'));
    // It fits the patch, but not the resource.
    expect(await patch('{"name":"too long"}')).toEqual(
      refused('"name" must be a string of at most 5 characters'),
    );

    const put = (body: string) => members(store.request("PUT", at, body));
    await patch('{"count":9}');
    // It need not have a name, and cannot have a count: these stay.
    expect(await put('{"note":"m"}')).toEqual([200, { name: "a", note: "m", count: 9 }]);
    expect(await put('{"name":"b","note":"m"}')).toEqual([200, { name: "b", note: "m", count: 9 }]);
    expect(await put('{"name":"b"}')).toEqual([
      400,
      expect.objectContaining({ detail: expect.stringContaining("not a ThingUpdate") }),
    ]);
    // A patch may add to what is stored, but not past the limit of a body.
    const long = "x".repeat(600_000);
    const second = await store.request(
      "POST",
      "/things",
      JSON.stringify({ name: "a", note: "n", secret: long }),
    );
    const other = `/things/${/"id":(\d+)/.exec(second.text)?.[1]}`;
    expect((await store.request("PATCH", other, JSON.stringify({ note: long }))).status).toBe(413);
    expect((await store.request("GET", other)).json).toMatchObject({ note: "n" });

    const wrong = await store.request("GET", "/things/x");
    expect(wrong.text).toContain('\\"thingId\\" must be an integer');
  });
});
