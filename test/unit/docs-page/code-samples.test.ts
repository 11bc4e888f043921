// The code samples of operations that differ from the create of openapi.yaml.

import { expect, test } from "bun:test";
import { sampleBody } from "../../../src/contract/plant.ts";
import { codeSamples } from "../../../src/docs-page/code-samples.ts";
import { servedDocument } from "../../../src/docs-page/served-document.ts";
import { defineOperation } from "../../../src/plants/define-operation.ts";
import { int32, int64, optional } from "../../../src/plants/parameters.ts";
import { plantStore } from "../../support/contracts.ts";

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
  responses: { 200: { description: "It was moved.", returns: "one" } },
  handle: async () => ({ status: 204 }),
});

test("a sample has the method, its path, the token and a body that fits", () => {
  const { paths } = servedDocument(plantStore, [move]);
  const [curl] = paths["/plants/{id}/place"]?.put?.["x-codeSamples"] ?? [];
  expect(curl?.source).toContain("curl -i -X PUT");
  expect(curl?.source).toContain("/plants/1/place");
  expect(curl?.source).toContain('-H "Authorization: Bearer $ACCESS_TOKEN"');
  expect(curl?.source).toContain(`-d '${sampleBody(plantStore, 1n)}'`);
});

test("curl without a token and a body is one line", () => {
  const request = { field: undefined, method: "GET", url: "http://x.example/plants", body: undefined };
  expect(codeSamples(request)[0]?.source).toBe("curl -i http://x.example/plants\n");
});
