// The order of the checks of a request, which is one for the create, for other operations of a
// collection, and for those that a sandbox responds to as described.

import { expect, test } from "bun:test";
import { sandboxOfThings } from "../../support/contract-sandbox.ts";
import { jsonOf, objectOf } from "../../support/descriptions.ts";
import { send } from "../../support/http.ts";

const name = { type: "string" };
const one = objectOf({ id: { type: "integer" }, name }, ["id", "name"]);
const described = (body: object) => ({
  security: [{ bearer: [] }],
  parameters: [{ name: "X-Tenant", in: "header", required: true, schema: { type: "integer" } }],
  requestBody: { required: true, ...jsonOf(body) },
  responses: { 200: { description: "ok", ...jsonOf(one) } },
});

test("is the caller, the header fields, the media type and the body, whatever runs the operation", async () => {
  await using things = await sandboxOfThings({
    more: {
      paths: {
        "/things": { post: described(one) },
        "/things/{id}": { patch: described(objectOf({ name })) },
        "/things/{id}/move": { post: described(objectOf({ name }, ["name"])) },
      },
      components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } },
    },
  });
  for (const [method, path] of [
    ["POST", "/things"],
    ["PATCH", "/things/1"],
    ["POST", "/things/1/move"],
  ] as const) {
    const headers: Record<string, string> = { "Content-Type": "image/png" };
    const errors: [string, unknown][] = [];
    for (const mended of [
      {},
      { Authorization: `Bearer ${things.token}` },
      { "X-Tenant": "1" },
      { "Content-Type": "application/json" },
    ]) {
      Object.assign(headers, mended);
      const { json } = await send(`${things.url}${path}`, { method, headers, body: '{"name":1}' });
      errors.push([path, (json as { readonly error: number }).error]);
    }
    expect(errors).toEqual([40100, 40004, 41500, 40002].map((error) => [path, error]));
  }
});
