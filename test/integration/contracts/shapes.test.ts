// Contracts in the shapes of samples that people know, and collections with any name: each starts
// as a sandbox, says what it does not serve, and keeps what is created.

import { expect, test } from "bun:test";
import type { Plant } from "../../../src/contract/contract.ts";
import { plantJson } from "../../../src/contract/plant.ts";
import type { Description } from "../../../src/docs-page/description.ts";
import { contractFile, sandboxOf, sandboxOfText } from "../../support/contract-sandbox.ts";

test("a store of planets", async () => {
  await using store = await sandboxOf(contractFile("planets.json"));
  expect(store.collection.notes.map((note) => note.replace(/ \(at .*/, ""))).toEqual([
    "callbacks are not sent",
    "a body of application/xml is not read",
    "webhooks are not sent",
    "POST /planets/{planetId}/image is not served, as it is none of a collection: it responds with 501",
  ]);
  const planet = plantJson(store.collection, store.collection.examples[0] as Plant);
  expect(await store.request("POST", "/planets", planet)).toMatchObject({ status: 201, text: planet });
  const wrong = planet.replace(/"physical":\{[^}]*\}/, '"physical":{"mass":0}');
  const { message } = (await store.request("POST", "/planets", wrong)).json as { message: string };
  expect(message).toContain('"physical" must be an object that the contract\'s schema accepts');
  expect((await store.request("POST", "/planets/1/image", "{}")).json).toEqual({
    message: expect.stringContaining("send multipart/form-data"),
  });
  expect((await store.request("GET", "/planets")).status).toBe(405);
  expect((await store.request("DELETE", "/planets/1")).status).toBe(204);
});

test("problem details (RFC 9457), where they are described", async () => {
  await using store = await sandboxOf(contractFile("bookings.yaml"));
  const problems = await Promise.all([
    store.request("POST", "/bookings", '{"cabin":1}'),
    store.request("POST", "/bookings", "{"),
    store.request("PUT", "/bookings/1", "{}"),
    store.request("GET", "/nothing"),
    store.request("POST", "/bookings", "{}", {}),
    store.request("POST", "/bookings", "{}", { "X-API-Key": store.token, Prefer: "code=503" }),
    store.request("POST", "/openapi.json"),
  ]);
  for (const { status, headers, json } of problems) {
    expect(headers.get("content-type")).toBe("application/problem+json");
    expect(json).toEqual({
      type: expect.stringMatching(new RegExp(`^urn:plantstore:error:${status}\\d\\d$`)),
      title: expect.any(String),
      status,
      detail: expect.stringMatching(/\.$/),
    });
  }
  expect(problems.map(({ status }) => status)).toEqual([400, 400, 405, 404, 401, 503, 405]);
  expect(problems[0]?.text).toBe(
    '{"type":"urn:plantstore:error:40002","title":"The body does not fit its schema","status":400,' +
      '"detail":"The body is not a Booking: \\"cabin\\" must be a string of at most 50 characters, but is the number 1."}',
  );
  const { json } = await store.request("GET", "/openapi.json");
  const described = json as Description;
  expect(described.paths["/bookings"]?.post?.responses["413"]?.content).toMatchObject({
    "application/problem+json": {
      schema: { $ref: "#/components/schemas/Problem" },
      examples: { tooLarge: { value: { status: 413, title: "The body is over the limit" } } },
    },
  });
  expect(described.info.description).toContain("`status` is the HTTP status,\n`detail` says what was wrong");
});

test.each(["/tokens", "/edits", "/Größen", "/a b/ç", "/v1/plants.json", "/sandbox"])(
  "a collection %s",
  async (path) => {
    const changed = (await Bun.file(contractFile("pets.yaml")).text()).replaceAll("/pets", path);
    await using store = await sandboxOfText(changed);
    const pet = '{"id":1,"name":"Rex"}';
    const at = encodeURI(path);
    expect((await store.request("POST", at, pet)).status).toBe(201);
    expect((await store.request("GET", at)).text).toBe(`[${pet}]`);
    expect((await store.request("GET", `${at}/1`)).text).toBe(pet);
  },
);
