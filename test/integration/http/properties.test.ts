// Every NewPlant is stored and exported exactly.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Representation } from "../../../src/contract/contract.ts";
import { plantJson, responseJson } from "../../../src/contract/plant.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { plantStore } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { post, type Target } from "../../support/http.ts";
import { anyPlant } from "../../support/random.ts";
import { RunningServer } from "../../support/server.ts";
import { exported } from "../../support/stored-plants.ts";

for (const engine of engines) {
  describe(engine.name, () => {
    const resources = new AsyncDisposableStack();
    let server: RunningServer;
    let target: Target;
    beforeAll(async () => {
      const place = resources.use(await engine.createTestStore());
      server = resources.use(await RunningServer.startInProcess({ database: place.database }));
      target = await server.target();
    });
    afterAll(() => resources.disposeAsync());

    test("every NewPlant is returned as its Plant, and exported exactly", async () => {
      const stored = new Map<PlantId, string>();
      const create = fc.asyncProperty(fc.array(anyPlant, { minLength: 1, maxLength: 30 }), async (plants) => {
        const fresh = plants.filter(
          ({ id }, index) => !stored.has(id) && plants.findIndex((other) => other.id === id) === index,
        );
        const answers = await Promise.all(fresh.map((plant) => post(target, plantJson(plantStore, plant))));
        for (const [index, plant] of fresh.entries()) {
          expect(answers[index]).toMatchObject({
            status: 200,
            text: responseJson(plantStore, plantStore.operations.create.response as Representation, plant),
          });
          stored.set(plant.id, plantJson(plantStore, plant));
        }
      });
      await fc.assert(create, { numRuns: 60 });

      const ids = [...stored.keys()].toSorted((a, b) => (a < b ? -1 : 1));
      expect((await exported(server.database)).split("\n")).toEqual([
        ...ids.map((id) => stored.get(id) ?? ""),
        "",
      ]);
    });
  });
}
