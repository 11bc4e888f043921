// Each success of a create is a resource of its own, whatever format the ids of the server have: two
// servers on one store, and equal bodies.

import { describe, expect, test } from "bun:test";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import type { NewEntry } from "../../../src/store/plant-store.ts";
import { onlyCollection } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { contractWithIds, idIn, idSchemas, startTwo } from "../../support/id-contracts.ts";
import { storedCount } from "../../support/stored-plants.ts";

for (const engine of engines)
  describe(engine.name, () => {
    test.each(Object.entries(idSchemas))("ids that are %s: each success is one resource", async (_, id) => {
      await using both = await startTwo(engine, contractWithIds(id));
      const answers = await Promise.all(
        Array.from({ length: 800 }, (_, index) => both.create(index % 2, "equal")),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      const ids = new Set(answers.map(idIn));
      expect([ids.size, await storedCount(both.database)]).toEqual([800, 800]);
    });

    test("a new resource is never taken for an equal one with its id", async () => {
      await using both = await startTwo(engine, contractWithIds(idSchemas.int64));
      const [one, other] = both.servers.map(({ store }) => store);
      if (one === undefined || other === undefined) throw new Error("There are two stores");
      const collection = onlyCollection(one.contract);
      const entry = (id: PlantId): NewEntry => ({
        collection,
        plant: { id, values: ["equal"] },
        creator: null,
        key: null,
      });
      const createdAt = Date.now();
      // Also twice in one batch, and in one that is inserted by COPY.
      expect(await one.create([entry(1n), entry(2n), entry(2n)], createdAt)).toEqual([
        "created",
        "created",
        "taken",
      ]);
      const many = Array.from({ length: 30 }, (_, index) => entry(BigInt(index)));
      expect((await other.create(many, createdAt)).filter((outcome) => outcome !== "created")).toEqual([
        "taken",
        "taken",
      ]);
    });

    test("where few ids are allowed, all of them are given, and then none", async () => {
      const greatest = 999;
      await using both = await startTwo(engine, contractWithIds({ type: "integer", maximum: greatest }));
      const ids = new Set<string>();
      for (let started = 0; started < greatest; started += 37) {
        const count = Math.min(37, greatest - started);
        const creates = Array.from({ length: count }, (_, index) => both.create(index % 2, "equal"));
        for (const answer of await Promise.all(creates)) {
          expect(answer.status).toBe(200);
          ids.add(idIn(answer));
        }
      }
      expect([ids.size, await storedCount(both.database)]).toEqual([greatest, greatest]);
      for (const key of [undefined, "k"]) {
        const { status, headers, json } = await both.create(0, "one more", key);
        expect([status, headers.get("retry-after")]).toEqual([503, null]);
        expect(json).toMatchObject({
          error: 50300,
          message:
            "No id is left for another thing: all that the contract allows are taken. Nothing was stored.",
        });
      }
      const exhausted = both.servers[0]?.events.filter(({ kind }) => kind === "idsExhausted");
      expect(exhausted).toEqual([{ kind: "idsExhausted", path: "/things" }]);
      // One that is free again is given.
      expect((await both.send(1, "DELETE", "/77")).status).toBe(204);
      expect(idIn(await both.create(0, "again"))).toBe("77");
    });
  });
