// Each success of a create is a resource of its own, whatever format the ids of the server have: two
// servers on one store, and equal bodies.

import { describe, expect, test } from "bun:test";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { toExactJson } from "../../../src/json/exact-json.ts";
import type { NewEntry } from "../../../src/store/plant-store.ts";
import { sendJson } from "../../support/contract-sandbox.ts";
import { onlyCollection } from "../../support/contracts.ts";
import { jsonOf, objectOf, thingsDocument } from "../../support/descriptions.ts";
import { engines } from "../../support/engines.ts";
import { startInProcess } from "../../support/in-process-server.ts";
import { openedStore, storedCount } from "../../support/stored-plants.ts";

/** The schemas of ids, by what is special about them. */
const idSchemas = {
  int64: { type: "integer", format: "int64" },
  "53 bits": { type: "integer", maximum: Number.MAX_SAFE_INTEGER },
  "a number": { type: "number" },
  int32: { type: "integer", format: "int32" },
  "at most 9999": { type: "integer", maximum: 9_999 },
  "a UUID": { type: "string", format: "uuid" },
  "24 digits": { type: "string", pattern: "^[0-9a-f]{24}$" },
  "a prefix": { type: "string", pattern: "^ses_[0-9a-z]+$", maxLength: 24 },
  "12 characters": { type: "string", maxLength: 12 },
} as const;

function contractOf(id: unknown) {
  const name = { type: "string" };
  const response = objectOf({ id, name });
  const item = { get: { responses: { 200: { description: "ok", ...jsonOf(response) } } } };
  const document = thingsDocument({ body: objectOf({ name }, ["name"]), response, item });
  return { text: toExactJson(document) };
}

/** Two servers on one store, and a create on one of them. */
async function startTwo(engine: (typeof engines)[number], id: unknown) {
  await using starting = new AsyncDisposableStack();
  const contract = contractOf(id);
  const { database } = starting.use(await engine.createTestStore(contract));
  const servers: Awaited<ReturnType<typeof startInProcess>>[] = [];
  for (let count = 0; count < 2; count++)
    servers.push(
      starting.use(await startInProcess({ store: await openedStore(database, undefined, contract) })),
    );
  const held = starting.move();
  return {
    database,
    servers,
    create: (server: number, body: object, headers: Record<string, string> = {}) =>
      sendJson(`${servers[server]?.url}/things`, "POST", body, headers),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

for (const engine of engines)
  describe(engine.name, () => {
    test.each(Object.entries(idSchemas))("ids that are %s: each success is one resource", async (_, id) => {
      await using both = await startTwo(engine, id);
      const answers = await Promise.all(
        Array.from({ length: 1_500 }, (_, index) => both.create(index % 2, { name: "equal" })),
      );
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
      const ids = new Set(answers.map(({ text }) => /"id":("[^"]+"|\d+)/.exec(text)?.[1]));
      expect([ids.size, await storedCount(both.database)]).toEqual([1_500, 1_500]);
    });

    test("a new resource is never taken for an equal one with its id", async () => {
      await using both = await startTwo(engine, idSchemas.int64);
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
        "conflict",
      ]);
      const many = Array.from({ length: 30 }, (_, index) => entry(BigInt(index)));
      expect((await other.create(many, createdAt)).filter((outcome) => outcome !== "created")).toEqual([
        "conflict",
        "conflict",
      ]);
    });
  });
