// The documentation page of descriptions that differ from openapi.yaml.

import { expect, test } from "bun:test";
import { sampleBody } from "../../../src/contract/plant.ts";
import { codeSamples } from "../../../src/docs-page/code-samples.ts";
import { documentationOf } from "../../../src/docs-page/documentation-html.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { defineOperation } from "../../../src/plants/define-operation.ts";
import { int32, int64, optional } from "../../../src/plants/parameters.ts";
import { plantStore } from "../../support/contracts.ts";

const openapi = servedDocument(plantStore, []);
const pageOf = (description: typeof openapi) => documentationOf(plantStore, description);

const place = { prefix: "", url: "http://plants.example" };

test("the form has the first example of the body, whatever its name is", () => {
  const renamed = JSON.parse(JSON.stringify(openapi).replaceAll("withTag", "tagged"));
  expect(pageOf(renamed)(place)).toBe(pageOf(openapi)(place));
});

test("a schema without fields has its type, and no empty table", () => {
  const { Plant, ...schemas } = openapi.components.schemas;
  const plants = { type: "array", items: { $ref: "#/components/schemas/Plant" } };
  const text = JSON.stringify({
    ...openapi,
    components: { ...openapi.components, schemas: { ...schemas, Plant, Plants: plants } },
  });
  const html = pageOf(
    JSON.parse(text.replace("#/components/schemas/NewPlant", "#/components/schemas/Plants")),
  )(place);
  expect(html).toContain('<h3>Plants</h3><p class="note">array of Plant</p>');
  expect(html).not.toContain("<tbody></tbody>");
});

const move = defineOperation({
  operationId: "movePlant",
  method: "PUT",
  path: "/plants/{id}/place",
  summary: "Move a plant",
  description: "Moves it.",
  parameters: {
    id: int64("The id <of> the plant."),
    shelf: int32({ description: "The shelf.", minimum: 2, maximum: 9, default: 3 }),
    after: optional(int64("The plant before it.")),
  },
  body: { schema: { $ref: "#/components/schemas/NewPlant" }, parse: () => undefined },
  responses: {
    200: {
      description: "It was moved.",
      returns: "one",
    },
  },
  handle: async () => ({ status: 204 }),
});

test("an operation has a form, parameters, samples and the types of its responses", () => {
  const html = pageOf(servedDocument(plantStore, [move]))(place);
  expect(html).toContain('data-method="PUT" data-action="plants/{id}/place"');
  expect(html).toContain('name="id" data-in="path" required');
  expect(html).toContain('name="shelf" data-in="query" placeholder="3"');
  expect(html).toMatch(/name="after" data-in="query" autocomplete/);
  expect(html).toContain("<p>The id &lt;of&gt; the plant.</p>");
  expect(html).toContain("In the query, from 2 to 9, <code>3</code> if absent");
  expect(html).toContain(
    `curl -i -X PUT http://plants.example/plants/1/place \\\n  -H &quot;Authorization: Bearer $ACCESS_TOKEN&quot;`,
  );
  expect(html).toContain(`-d &#x27;${Bun.escapeHTML(sampleBody(plantStore, 1n))}&#x27;`);
  expect(html).toContain('<p class="note">Body: <code>Plant</code></p>');
});

test("curl without a token and a body is one line", () => {
  const request = { field: undefined, method: "GET", url: "http://x.example/plants", body: undefined };
  expect(codeSamples(request)[0]?.source).toBe("curl -i http://x.example/plants\n");
});

test("a query parameter that is required is in the samples", () => {
  const { described } = move;
  if (described === undefined) throw new Error("The operation is not described");
  const { shelf, ...others } = described.parameters;
  if (shelf === undefined) throw new Error("There is no shelf");
  const { whenAbsent: _, ...required } = shelf;
  const parameters = { ...others, shelf: required };
  const html = pageOf(servedDocument(plantStore, [{ ...move, described: { ...described, parameters } }]))(
    place,
  );
  expect(html).toContain("http://plants.example/plants/1/place?shelf=3");
  expect(html).toContain('name="shelf" data-in="query" required');
});
