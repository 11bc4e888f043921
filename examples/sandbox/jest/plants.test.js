const { setTimeout } = require("node:timers/promises");
const { afterAll, beforeAll, beforeEach, expect, test } = require("@jest/globals");
const { startSandbox } = require("plantstore/sandbox");

/** @type {import("plantstore/sandbox").Sandbox} */
let sandbox;
beforeAll(async () => {
  sandbox = await startSandbox();
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

/** Stands for the code that you test. */
function createPlant(plant) {
  const headers = { Authorization: `Bearer ${sandbox.token}`, "Content-Type": "application/json" };
  return fetch(sandbox.resourcesUrl, { method: "POST", headers, body: JSON.stringify(plant) });
}

test("a rate that is exceeded is reported with the time to wait", async () => {
  await sandbox.force({ match: { tag: "tropical" }, outcome: { error: 42900 } });
  const response = await createPlant({ id: 1, name: "Monstera deliciosa", tag: "tropical" });
  expect(response.status).toBe(429);
  expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await sandbox.resources()).toEqual([]);
});

test("a create still waits when its test ends", async () => {
  await sandbox.force({ outcome: { delay: { seconds: 0.2 } } });
  createPlant({ id: 2, name: "Monstera" }).catch(() => undefined);
  while ((await sandbox.rules())[0]?.applied === 0);
});

test("it is not in the next test, after a reset", async () => {
  await setTimeout(400);
  expect(await sandbox.resources()).toEqual([]);
  expect(await sandbox.requests()).toEqual([]);
});
