import { afterAll, beforeEach, expect, test } from "bun:test";
import { setTimeout } from "node:timers/promises";
import { startSandbox } from "plantstore/sandbox";

const sandbox = await startSandbox({ seed: [{ id: 1, name: "Ficus lyrata", tag: "tropical" }] });
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

/** Stands for the code that you test. */
function createPlant(json: string): Promise<Response> {
  const headers = { Authorization: `Bearer ${sandbox.token}`, "Content-Type": "application/json" };
  return fetch(sandbox.resourcesUrl, { method: "POST", headers, body: json });
}

test("the id of a plant is exact", async () => {
  const response = await createPlant('{"id": 9007199254740993, "name": "Monstera deliciosa"}');
  expect(response.status).toBe(200);
  expect(await sandbox.resources()).toEqual([
    { id: 1n, name: "Ficus lyrata", tag: "tropical" },
    { id: 9007199254740993n, name: "Monstera deliciosa" },
  ]);
});

test("a plant that is there stays as it is", async () => {
  const response = await createPlant('{"id": 1, "name": "Monstera deliciosa"}');
  expect(await response.json()).toMatchObject({ error: 40009 });
  expect(await sandbox.resource(1)).toEqual({ id: 1n, name: "Ficus lyrata", tag: "tropical" });
});

test("a create still waits when its test ends", async () => {
  await sandbox.force({ outcome: { delay: { seconds: 0.2 } } });
  createPlant('{"id": 2, "name": "Monstera"}').catch(() => undefined);
  while ((await sandbox.rules())[0]?.applied === 0);
});

test("it is not in the next test, after a reset", async () => {
  await setTimeout(400);
  expect(await sandbox.resources()).toHaveLength(1);
  expect(await sandbox.requests()).toEqual([]);
});
