// The console's creates and edits, their history and its undo, on a store in memory.

import { expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { getPlant } from "../../../src/console/calls/plant-calls.ts";
import { PlantChanges } from "../../../src/console/calls/plant-changes.ts";
import type { Collection } from "../../../src/contract/contract.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { consoleContext, MemoryContext, statusOf } from "../../support/console.ts";
import { plant, plantStore } from "../../support/contracts.ts";
import { plantJson } from "../../support/http.ts";

const client = "192.0.2.1";

/** The plants 0 to `count` - 1. */
function roses(count: number) {
  return Array.from({ length: count }, (_, id) => ({ id: BigInt(id), name: "Rosa" }));
}

/** The version of a plant as its dialog shows it. */
async function versionOf(context: MemoryContext, id: string): Promise<string> {
  return (await getPlant(context, new URLSearchParams({ id })))?.version ?? "";
}

test("a plant is created with the checks of the public operation", async () => {
  await using context = await MemoryContext.of(roses(2));
  const changes = new PlantChanges(context);
  const create = (body: string) => statusOf(changes.create({ body }, client));
  expect(await create(plantJson(9_007_199_254_740_993n, "Hoya"))).toBe(200);
  expect(await create(plantJson(9_007_199_254_740_993n, "Hoya"))).toBe(200);
  expect(await create(plantJson(1n, "Hoya"))).toBe(400);
  expect(await create("{")).toBe(400);
  expect(await create(plantJson(3n, "x".repeat(context.bodyBytesMax)))).toBe(400);
  expect(context.store.get(plantStore, 9_007_199_254_740_993n)).toMatchObject({
    values: ["Hoya", undefined],
  });
  expect(context.emitted).toMatchObject([
    { message: "plant created", fields: { id: "9007199254740993", client } },
  ]);
  expect(context.created).toBe(1);
});

test("a plant without an id gets one that the server makes, and another where that is taken", async () => {
  const text = await Bun.file(join(import.meta.dir, "../../contracts/estate.yaml")).text();
  const estate = await readContract({ text });
  const collection = estate.collections.find(({ name }) => name === "special-events") as Collection;
  await using context = new MemoryContext({ ...estate, ...collection });
  const ids = [1n, 1n, 1n, 2n];
  const changes = new PlantChanges({ ...context, newId: () => ids.shift() ?? 0n, reader: context.reader });
  const body = '{"eventName":"Pirate workshop","location":"Room 7"}';
  expect(await changes.create({ body }, client)).toEqual({ id: 1n });
  expect(await changes.create({ body }, client)).toEqual({ id: 2n });
  expect([context.created, ids]).toEqual([2, []]);
});

test("a plant is replaced and deleted only while it is what the operator was shown", async () => {
  await using context = await MemoryContext.of(roses(9));
  const changes = new PlantChanges(context);
  const edit = (version: string, body = "") => changes.edit({ id: "7", version, body }, client);
  const first = await versionOf(context, "7");
  expect(await edit(first, plantJson(7n, "Ficus \u{1f331}", ""))).toEqual({ isSaved: true });
  expect(await edit(first, plantJson(7n, "Hoya"))).toEqual({ isSaved: false });
  expect(await edit(first)).toEqual({ isSaved: false });
  const second = await versionOf(context, "7");
  // No edit.
  expect(await edit(second, plantJson(7n, "Ficus \u{1f331}", ""))).toEqual({ isSaved: true });
  for (const invalid of [
    plantJson(1n, "another id"),
    '{"id": 7}',
    '{"id": 7, "name": "\\u0000"}',
    '{"id": 7, "name": "x", "tag": null}',
    "{",
    plantJson(7n, "x".repeat(context.bodyBytesMax)),
  ])
    expect(await statusOf(edit(second, invalid))).toBe(400);
  expect(await statusOf(changes.edit({ id: "x", version: "", body: "" }, client))).toBe(400);
  expect(await edit(second)).toEqual({ isSaved: true });
  expect(await edit(second)).toEqual({ isSaved: false });
  expect(context.emitted.map((event) => ("message" in event ? event.message : event.kind))).toEqual([
    "plants edited",
    "plants edited",
  ]);
  expect(JSON.stringify(context.emitted)).not.toContain("Ficus");
});

test("a plant that is changed between its read and its edit is left", async () => {
  await using context = await MemoryContext.of(roses(1));
  const store = { contract: plantStore, edit: async () => ["changed" as const] };
  const changes = new PlantChanges(consoleContext({ ...context, reader: context.reader, store }));
  const edit = { id: "0", version: await versionOf(context, "0"), body: "" };
  expect(await changes.edit(edit, client)).toEqual({ isSaved: false });
});

test("the history of a plant has its newest edits, and undoes them", async () => {
  // Edits of one millisecond have no order.
  let now = Date.UTC(2026, 0, 1);
  using _ = spyOn(Date, "now").mockImplementation(() => now++);
  await using context = await MemoryContext.of(roses(9));
  const changes = new PlantChanges(context);
  const history = () => changes.history(new URLSearchParams({ id: "7" }));
  const edit = async (body = "") =>
    changes.edit({ id: "7", version: await versionOf(context, "7"), body }, client);
  expect(await history()).toEqual({ edits: [], isComplete: true });
  await edit(plantJson(7n, "Rosa canina", ""));
  await edit();
  const { edits: listed } = await history();
  expect(listed as unknown[]).toEqual([
    {
      run: expect.any(String),
      editedAt: expect.stringMatching(/^20.*Z$/),
      editor: { by: "console", client },
      kind: "deleted",
      changes: [
        { name: "name", before: "Rosa canina", after: null },
        { name: "tag", before: "", after: null },
      ],
    },
    expect.objectContaining({
      kind: "changed",
      changes: [
        { name: "name", before: "Rosa", after: "Rosa canina" },
        { name: "tag", before: null, after: "" },
      ],
    }),
  ]);
  const [deletion = "", change = ""] = listed.map(({ run }) => run);
  const undo = (run: string, id = "7") => changes.undo({ run, id }, client);
  expect(await undo(change)).toMatchObject({ isUndone: false, isAsBefore: false });
  expect(await undo(deletion)).toMatchObject({ isUndone: true });
  expect(context.created).toBe(1);
  expect(await undo(deletion)).toMatchObject({ isUndone: false, isAsBefore: true });
  expect(await undo(change)).toMatchObject({ isUndone: true });
  expect(context.store.get(plantStore, 7n)).toEqual(plant({ id: 7n, name: "Rosa" }));
  expect(context.emitted.at(-1)).toMatchObject({ message: "plants edited", fields: { updated: 1, client } });
  expect(await statusOf(undo(change, "8"))).toBe(404);
  expect(await statusOf(undo(change, "x"))).toBe(400);

  for (let count = 0; count < 98; count++) await edit(plantJson(7n, "Rosa", String(count)));
  const { edits, isComplete } = await history();
  expect([edits.length, isComplete]).toEqual([100, false]);
});
