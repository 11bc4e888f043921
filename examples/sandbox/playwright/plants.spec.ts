import { setTimeout } from "node:timers/promises";
import { test as base, expect } from "@playwright/test";
import { type Sandbox, startSandbox } from "plantstore/sandbox";

const test = base.extend<{ sandbox: Sandbox }, { workerSandbox: Sandbox }>({
  workerSandbox: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of fixtures from it.
    async ({}, use) => {
      const sandbox = await startSandbox();
      await use(sandbox);
      await sandbox.close();
    },
    { scope: "worker" },
  ],
  sandbox: async ({ workerSandbox }, use) => {
    await workerSandbox.reset();
    await use(workerSandbox);
  },
});

test("a plant is created", async ({ sandbox, request }) => {
  const response = await request.post(sandbox.resourcesUrl, {
    headers: { Authorization: `Bearer ${sandbox.token}` },
    data: { id: 1, name: "Monstera deliciosa" },
  });
  expect(response.status()).toBe(200);
  expect(await sandbox.resource(1)).toEqual({ id: 1n, name: "Monstera deliciosa" });
});

test("a create still waits when its test ends", async ({ sandbox }) => {
  await sandbox.force({ outcome: { delay: { seconds: 0.2 } } });
  const headers = { Authorization: `Bearer ${sandbox.token}`, "Content-Type": "application/json" };
  const body = '{"id": 2, "name": "Monstera deliciosa"}';
  fetch(sandbox.resourcesUrl, { method: "POST", headers, body }).catch(() => undefined);
  while ((await sandbox.rules())[0]?.applied === 0);
});

test("it is not in the next test, after a reset", async ({ sandbox }) => {
  await setTimeout(400);
  expect(await sandbox.resources()).toEqual([]);
  expect(await sandbox.requests()).toEqual([]);
});
