// sandbox --seed examples: the resources in the examples of the contract are there at the start,
// and after a reset.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { sampleBody } from "../../../src/contract/plant.ts";
import { exampleSeeds } from "../../../src/sandbox/example-seeds.ts";
import { contractFile, sandboxOf } from "../../support/contract-sandbox.ts";
import { plantStore, readSingle } from "../../support/contracts.ts";
import { TemporaryFolder } from "../../support/server.ts";

const text = await Bun.file(contractFile("bookings.yaml")).text();

test("the resources of lists and of single responses are stored", async () => {
  await using store = await sandboxOf(contractFile("bookings.yaml"), ["--seed", "examples"]);
  const listed = async () => {
    const { json } = await store.request("GET", "/bookings");
    return (json as { data: { id: number; cabin: string }[] }).data.map(({ id, cabin }) => `${id} ${cabin}`);
  };
  const seeds = ["11 Beech", "12 Larch", "13 Alder"];
  expect(await listed()).toEqual(seeds);
  expect((await store.request("DELETE", "/bookings/11")).status).toBe(204);
  expect(await listed()).toEqual(seeds.slice(1));
  expect((await store.sandbox.control("POST", "/reset")).status).toBe(204);
  expect(await listed()).toEqual(seeds);
});

test("where the response has another schema, the example of the body's is the seed and the sample", async () => {
  const ofBody = text
    .replaceAll(/ +examples:\n(?: {16}.*\n)+| +example: .*\n/g, "")
    .replace(
      'application/json: { schema: { $ref: "#/components/schemas/Booking" } }',
      "application/json: { schema: { type: object, required: [cabin], properties: { cabin: { type: string } }, example: { cabin: Oak } } }",
    );
  const contract = await readSingle({ text: ofBody });
  expect(exampleSeeds(contract, contract)).toEqual({ plants: [{ id: 1n, values: ["Oak"] }], notes: [] });
  expect(sampleBody(contract, 1n)).toBe('{"cabin": "Oak"}');
});

test("an example that is no resource is said; without examples of responses those of bodies are taken", async () => {
  using folder = new TemporaryFolder();
  const changed = text
    .replace("{ id: 12, cabin: Larch,", "{ id: 9007199254740993, cabin: Larch,")
    .replace("{ id: 13, cabin: Alder,", "{ id: 13, cabin: 7,");
  writeFileSync(folder.file("changed.yaml"), changed);
  const contract = await readSingle({ text: changed });
  const { plants, notes } = exampleSeeds(contract, contract);
  expect(plants.map(({ id }) => id)).toEqual([11n, 9007199254740993n]);
  expect(notes).toEqual([
    expect.stringMatching(/^an example is no seed: The body is not a Booking: "cabin" must be a string/),
  ]);
  expect(exampleSeeds(plantStore, plantStore).plants).toEqual(plantStore.examples);
});
