import { startSandbox } from "plantstore/sandbox";
import { afterAll, beforeEach, expect, test } from "vitest";

const sandbox = await startSandbox();
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

function send(plant: object): Promise<Response> {
  const headers = { Authorization: `Bearer ${sandbox.token}`, "Content-Type": "application/json" };
  return fetch(sandbox.resourcesUrl, { method: "POST", headers, body: JSON.stringify(plant) });
}

/** Stands for the code that you test: it tries twice. */
async function createPlant(plant: object): Promise<Response> {
  const response = await send(plant);
  return response.status === 503 ? send(plant) : response;
}

test("a create is sent again when the service is overloaded", async () => {
  await sandbox.force({ times: 1, outcome: { error: 50300 } });
  expect((await createPlant({ id: 1, name: "Monstera" })).status).toBe(200);
  expect(await sandbox.resources()).toEqual([{ id: 1n, name: "Monstera" }]);
  const requests = await sandbox.requests();
  expect(requests.map(({ response }) => response?.status)).toEqual([503, 200]);
});
