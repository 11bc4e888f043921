// Details of the served description: names, patterns, digits and addresses.

import { expect, test } from "bun:test";
import { openApiDocuments } from "../../../src/docs-page/openapi-documents.ts";
import { pageHtml } from "../../../src/docs-page/page-html.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";

const properties = `{"id":{"type":"integer","maximum":9223372036854775807},"name":{"type":"string"},
  "size":{"type":"string","enum":["small"]}}`;
const contract = await readContract({
  text: `{
    "openapi": "3.1.0",
    "info": {"title": "<b>Things</b>", "version": "1"},
    "paths": {"/things": {"post": {
      "security": [{"key": []}],
      "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Thing"}}}},
      "responses": {"201": {"description": "ok"}, "400": {"$ref": "#/components/responses/Loop"}}
    }}},
    "components": {
      "responses": {"Loop": {"$ref": "#/components/responses/Loop"}},
      "securitySchemes": {"key": {"type": "apiKey", "in": "cookie", "name": "key"}},
      "schemas": {
        "Thing": {"type": "object", "required": ["id", "name"], "properties": ${properties}},
        "Error": {"type": "object", "properties": {"oops": {"type": "string"}}}
      }
    }
  }`,
});
const served = servedDocument(contract, []);
const { schemas } = served.components;

test("the author's schema of the name of ours is kept", () => {
  expect(schemas.Error?.properties).toHaveProperty("oops");
  expect(schemas.ServerError?.required).toEqual(["error", "message"]);
});

test("texts without limits say what can be stored", () => {
  expect(schemas.Thing?.properties?.name).toHaveProperty("pattern");
  expect(schemas.Thing?.properties?.size).not.toHaveProperty("pattern");
});

test("an operation whose schemes are all refused needs a bearer token", () => {
  expect(served.paths["/things"]?.post?.security).toEqual([{ bearerAuth: [] }]);
});

test("YAML has all digits, and an address runs nothing", () => {
  const parts = openApiDocuments(() => served)("openapi.yaml", "http://a/$(id)'");
  const yaml = Buffer.concat(parts).toString();
  expect(yaml).toContain("maximum: 9223372036854775807\n");
  expect(yaml).toContain("http://a/%24(id)%27");
});

test("the title is text on the page", () => {
  expect(pageHtml(served, "")).toContain("<title>&lt;b&gt;Things&lt;/b&gt;</title>");
});
