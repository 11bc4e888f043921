// Store files that are removed, replaced or damaged.

import { expect, test } from "bun:test";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { newPlantJson } from "../../../src/core/contract/plant.ts";
import { eventually } from "../../support/eventually.ts";
import { plantJson, post } from "../../support/http.ts";
import { RunningServer, TemporaryFolder } from "../../support/server.ts";
import { exported, storePlants } from "../../support/stored-plants.ts";

test("a store removed under a running server: plants get 503 until it is back, and none is lost", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  await using server = await RunningServer.startInProcess({ database: `sqlite:${path}` });
  const target = await server.target();
  expect((await post(target, plantJson(1n, "before"))).status).toBe(200);
  renameSync(path, folder.file("away"));
  await eventually(
    "the server is not ready, without a create",
    async () => (await fetch(`${await server.adminUrl()}/readyz`)).text(),
    (text) => text.includes("plants.db was removed or replaced while it was open"),
  );
  const refused = await post(target, plantJson(2n, "meanwhile"));
  expect(refused.json).toMatchObject({
    error: 50300,
    message: expect.stringContaining("retrying in 1 second is safe"),
  });
  expect(refused.headers.get("retry-after")).toBe("1");
  // A replay needs no write, but files that were replaced are not read.
  expect((await post(target, plantJson(1n, "before"))).status).toBe(503);
  const line = await server.logged(({ level }) => level === "warn");
  expect(line.reason).toContain(`plants.db was removed or replaced while it was open`);

  renameSync(folder.file("away"), path);
  expect((await post(target, plantJson(4n, "after"))).status).toBe(200);
  expect(await exported(`sqlite:${path}`)).toBe(
    `${newPlantJson({ id: 1n, name: "before" })}\n${newPlantJson({ id: 4n, name: "after" })}\n`,
  );
});

test("damaged pages: their plants get 503, never a wrong response, and all others 200", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  const database = `sqlite:${path}`;
  const plants = Array.from({ length: 400 }, (_, id) => ({ id: BigInt(id), name: "x".repeat(400) }));
  await storePlants(database, plants);
  // Three pages in the middle; the first one has the schema.
  const file = readFileSync(path);
  const middle = Math.floor(file.length / 2 / 4_096);
  for (const page of [middle, middle + 1, middle + 2]) file.fill(0xee, page * 4_096, page * 4_096 + 64);
  writeFileSync(path, file);
  await using server = await RunningServer.startInProcess({ database });
  const target = await server.target();
  const statuses = new Map<number, number>();
  for (const plant of plants) {
    const { status } = await post(target, newPlantJson(plant));
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    // The same id with other content must not be acknowledged.
    if (status === 503) expect((await post(target, plantJson(plant.id, "other"))).status).not.toBe(200);
  }
  expect([...statuses.keys()].toSorted()).toEqual([200, 503]);
  expect(statuses.get(200)).toBeGreaterThan(200);
  const line = await server.logged(({ level }) => level === "warn");
  expect(line.reason).toContain("SQLITE_CORRUPT");
});
