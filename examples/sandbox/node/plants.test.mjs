import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { startSandbox } from "plantstore/sandbox";

const sandbox = await startSandbox();
beforeEach(() => sandbox.reset());
after(() => sandbox.close());

/** Stands for the code that you test. */
async function createPlant(plant, token = sandbox.token) {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  return fetch(sandbox.resourcesUrl, { method: "POST", headers, body: JSON.stringify(plant) });
}

test("the request is the documented one", async () => {
  await createPlant({ id: 1, name: "Monstera deliciosa" });
  const [{ request, response }] = await sandbox.requests();
  assert.equal(request.method, "POST");
  assert.equal(request.body, '{"id":1,"name":"Monstera deliciosa"}');
  assert.equal(response.status, 200);
});

test("a token that has expired is rejected", async () => {
  const token = await sandbox.createToken({ name: "ci", expiresInSeconds: 3600 });
  assert.equal((await createPlant({ id: 1, name: "Monstera deliciosa" }, token)).status, 200);
  await sandbox.setClock(3601);
  assert.equal((await createPlant({ id: 2, name: "Ficus lyrata" }, token)).status, 401);
});

test("a create still waits when its test ends", async () => {
  await sandbox.force({ outcome: { delay: { seconds: 0.2 } } });
  createPlant({ id: 2, name: "Monstera" }).catch(() => undefined);
  while ((await sandbox.rules())[0]?.applied === 0);
});

test("it is not in the next test, after a reset", async () => {
  await setTimeout(400);
  assert.deepEqual(await sandbox.resources(), []);
  assert.deepEqual(await sandbox.requests(), []);
});
