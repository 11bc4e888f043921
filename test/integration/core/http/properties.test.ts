// Properties of all bodies: a NewPlant is stored and exported exactly, and any other body is
// rejected.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import { newPlantJson, toPlant } from "../../../../src/core/contract/plant.ts";
import { engines } from "../../../support/engines.ts";
import { plantJson, post, type Target } from "../../../support/http.ts";
import { isNewPlant } from "../../../support/oracle.ts";
import { anyInt64, anyNewPlant } from "../../../support/random.ts";
import { RunningServer } from "../../../support/server.ts";
import { exported } from "../../../support/stored-plants.ts";

/** Bodies like a NewPlant: with fields missing, of another type, or in addition. */
const nearlyNewPlant = fc.record(
  {
    id: fc.oneof(
      fc.integer(),
      fc.double({ noDefaultInfinity: true, noNaN: true }),
      fc.string(),
      fc.constant(null),
      fc.boolean(),
    ),
    name: fc.oneof(fc.string(), fc.string(), fc.integer(), fc.constant(null), fc.array(fc.string())),
    tag: fc.oneof(
      fc.string(),
      fc.string(),
      fc.integer(),
      fc.constant(null),
      fc.dictionary(fc.string(), fc.jsonValue()),
    ),
    other: fc.jsonValue(),
  },
  { requiredKeys: [] },
);

for (const engine of engines) {
  describe(engine.name, () => {
    const resources = new AsyncDisposableStack();
    let server: RunningServer;
    let target: Target;
    beforeAll(async () => {
      const place = resources.use(await engine.createTestStore());
      server = resources.use(await RunningServer.startInProcess({ database: place.database }));
      target = { url: server.url, token: await server.createToken() };
    });
    afterAll(() => resources.disposeAsync());

    test("every NewPlant is returned as its Plant, and exported exactly", async () => {
      const stored = new Map<bigint, string>();
      const create = fc.asyncProperty(
        fc.array(anyNewPlant, { minLength: 1, maxLength: 30 }),
        async (plants) => {
          const fresh = plants.filter(
            ({ id }, index) => !stored.has(id) && plants.findIndex((other) => other.id === id) === index,
          );
          const answers = await Promise.all(fresh.map((plant) => post(target, newPlantJson(plant))));
          for (const [index, plant] of fresh.entries()) {
            expect(answers[index]).toMatchObject({ status: 200, text: JSON.stringify(toPlant(plant)) });
            stored.set(plant.id, newPlantJson(plant));
          }
        },
      );
      await fc.assert(create, { numRuns: 60 });

      const ids = [...stored.keys()].toSorted((a, b) => (a < b ? -1 : 1));
      expect((await exported(server.database)).split("\n")).toEqual([
        ...ids.map((id) => stored.get(id) ?? ""),
        "",
      ]);
    });

    test("a body that an independent validator rejects is 400, and one that it accepts is 40002 only for int64", async () => {
      await fc.assert(
        fc.asyncProperty(fc.oneof(nearlyNewPlant, fc.jsonValue()), async (body) => {
          const accepted = isNewPlant(body);
          const answer = await post(target, JSON.stringify(body));
          if (!accepted) {
            expect(answer).toMatchObject({
              status: 400,
              json: { error: 40002, message: expect.any(String) },
            });
          } else if (Number.isSafeInteger((body as { id: number }).id)) {
            expect([200, 400]).toContain(answer.status);
            expect(answer.json).not.toMatchObject({ error: 40002 });
          }
        }),
        { numRuns: 300 },
      );
    });

    test("any text as a body is 200 or an error other than 50000", async () => {
      const text = fc.oneof(fc.string({ unit: "binary" }), fc.json(), fc.uint8Array({ maxLength: 50 }));
      await fc.assert(
        fc.asyncProperty(text, async (body) => {
          const { status, json } = await post(target, body);
          if (status !== 200)
            expect(json).toMatchObject({ error: expect.any(Number), message: expect.any(String) });
          expect([200, 400]).toContain(status);
        }),
        { numRuns: 300 },
      );
    });

    test("an id is its exact value, however it is written", async () => {
      const zeros = fc.integer({ min: 0, max: 30 });
      await fc.assert(
        fc.asyncProperty(anyInt64, zeros, zeros, async (id, fraction, exponent) => {
          const name = `written ${id}`;
          const scaled = `${id}${"0".repeat(exponent)}.${"0".repeat(fraction + 1)}e-${exponent}`;
          const first = await post(target, plantJson(id, name));
          fc.pre(first.status === 200);
          expect((await post(target, `{"id": ${scaled}, "name": "${name}"}`)).status).toBe(200);
          expect((await post(target, `{"id": ${scaled}, "name": "another"}`)).json).toMatchObject({
            error: 40009,
          });
          expect(
            (await post(target, `{"name": "${name}", "id": ${id}.${"0".repeat(fraction)}1}`)).json,
          ).toMatchObject({ error: 40002 });
        }),
        { numRuns: 200 },
      );
    });
  });
}
