// Contracts in the shapes of samples that people know, and collections with any name: each starts as a
// sandbox, says what it does not serve, and keeps what is created.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Plant } from "../../../src/core/contract/contract.ts";
import { plantJson } from "../../../src/core/contract/plant.ts";
import { readContract } from "../../../src/core/contract/read-contract.ts";
import { send } from "../../support/http.ts";
import { RunningSandbox } from "../../support/sandbox.ts";
import { TemporaryFolder } from "../../support/server.ts";

async function sandboxOf(path: string) {
  const contract = await readContract({ text: await Bun.file(path).text() });
  const sandbox = await RunningSandbox.startInProcess({ args: ["--contract", path], contract });
  const request = (method: string, at: string, body?: string) =>
    send(sandbox.url + at, {
      method,
      headers: { Authorization: `Bearer ${sandbox.token}`, "Content-Type": "application/json" },
      ...(body !== undefined && { body }),
    });
  return { contract, request, [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose]() };
}

const file = (name: string) => join(import.meta.dir, "../../contracts", name);

test("a pet store", async () => {
  await using store = await sandboxOf(file("pets.yaml"));
  expect(store.contract.notes.map((note) => note.replace(/ \(at .*/, ""))).toEqual([
    "it describes no JSON; the response is what is stored",
    "every request needs a bearer token, whatever is described",
    "the header field x-next is not sent",
    'errors have the members "error" and "message", whatever is described',
  ]);
  const pet = '{"id":1,"name":"Rex","tag":null}';
  expect(await store.request("POST", "/pets", pet)).toMatchObject({ status: 201, text: pet });
  expect((await store.request("GET", "/pets?limit=1")).text).toBe(`[${pet}]`);
  expect((await store.request("GET", "/pets/1")).text).toBe(pet);
  expect((await store.request("DELETE", "/pets/1")).status).toBe(405);
});

test("a store of planets", async () => {
  await using store = await sandboxOf(file("planets.json"));
  expect(store.contract.notes.map((note) => note.replace(/ \(at .*/, ""))).toEqual([
    "a body of application/xml is not read",
    "POST /planets/{planetId}/image is not served: it responds with 501",
    "webhooks are not sent",
    "callbacks are not sent",
    "every request needs a bearer token, whatever is described",
    'errors have the members "error" and "message", whatever is described',
  ]);
  const planet = plantJson(store.contract, store.contract.examples[0] as Plant);
  expect(await store.request("POST", "/planets", planet)).toMatchObject({ status: 201, text: planet });
  const wrong = planet.replace(/"physical":\{[^}]*\}/, '"physical":{"mass":0}');
  const { message } = (await store.request("POST", "/planets", wrong)).json as { message: string };
  expect(message).toContain('"physical" must be an object that the contract\'s schema accepts');
  expect((await store.request("POST", "/planets/1/image", "{}")).json).toMatchObject({ error: 50100 });
  expect((await store.request("GET", "/planets")).status).toBe(405);
  expect((await store.request("DELETE", "/planets/1")).status).toBe(204);
});

test.each(["/tokens", "/edits", "/Größen", "/a b/ç", "/v1/plants.json", "/sandbox"])(
  "a collection %s",
  async (path) => {
    using folder = new TemporaryFolder();
    const changed = (await Bun.file(file("pets.yaml")).text()).replaceAll("/pets", path);
    writeFileSync(folder.file("contract.yaml"), changed);
    await using store = await sandboxOf(folder.file("contract.yaml"));
    const pet = '{"id":1,"name":"Rex"}';
    const at = encodeURI(path);
    expect(await store.request("POST", at, pet)).toMatchObject({ status: 201, text: pet });
    expect((await store.request("GET", at)).text).toBe(`[${pet}]`);
    expect((await store.request("GET", `${at}/1`)).text).toBe(pet);
  },
);
