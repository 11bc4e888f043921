// The console's creates and edits, of one plant and of many, their history and its undo, on a store
// in memory.

import { expect, spyOn, test } from "bun:test";
import { join } from "node:path";
import { getPlant, listPlants } from "../../../src/console/calls/plant-calls.ts";
import { PlantChanges } from "../../../src/console/calls/plant-changes.ts";
import type { Collection } from "../../../src/contract/contract.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";
import { toEntries } from "../../../src/store/plant-store.ts";
import { consoleContext, contractWith, MemoryContext, statusOf } from "../../support/console.ts";
import { plant, plantStore, type SingleContract } from "../../support/contracts.ts";
import { plantJson } from "../../support/http.ts";
import { settled } from "../../support/settled.ts";

const client = "192.0.2.1";

/** The plants 0 to `count` - 1. */
function roses(count: number) {
  return Array.from({ length: count }, (_, id) => ({ id: BigInt(id), name: "Rosa" }));
}

/** The plants of a search with their versions, as the list has them and an edit sends them. */
async function shown(context: MemoryContext, parameters: Record<string, string> = {}): Promise<string> {
  const versions: string[] = [];
  let after: PlantId | null = null;
  do {
    const position: Record<string, string> = after === null ? {} : { after: String(after) };
    const page = await listPlants(context, new URLSearchParams({ count: "50", ...parameters, ...position }));
    versions.push(...page.plants.map(({ id, version }) => `${id}:${version}`));
    after = page.next;
  } while (after !== null);
  return versions.join(" ");
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
  const version = async () => {
    const plant = await getPlant(context, new URLSearchParams({ id: "7" }));
    return `7:${plant?.version}`;
  };
  const edit = (plants: string, change: string, value = "") =>
    changes.edit({ plants, change, value }, client);
  const first = await version();
  expect(await edit(first, "replace", plantJson(7n, "Ficus \u{1f331}", ""))).toMatchObject({ edited: 1 });
  expect(await edit(first, "replace", plantJson(7n, "Hoya"))).toMatchObject({
    edited: 0,
    left: [7n],
  });
  expect(await edit(first, "delete")).toMatchObject({ edited: 0, left: [7n] });
  const second = await version();
  expect(await edit(second, "replace", plantJson(7n, "Ficus \u{1f331}", ""))).toMatchObject({
    edited: 0,
    left: [],
  });
  for (const invalid of [
    plantJson(1n, "another id"),
    '{"id": 7}',
    '{"id": 7, "name": "\\u0000"}',
    '{"id": 7, "name": "x", "tag": null}',
    "{",
    plantJson(7n, "x".repeat(context.bodyBytesMax)),
  ])
    expect(await statusOf(edit(second, "replace", invalid))).toBe(400);
  expect(await edit(second, "delete")).toMatchObject({ edited: 1 });
  expect(await edit(second, "delete")).toMatchObject({ edited: 0, left: [7n] });
  expect(context.emitted.map((event) => ("message" in event ? event.message : event.kind))).toEqual([
    "plants edited",
    "plants edited",
  ]);
  expect(JSON.stringify(context.emitted)).not.toContain("Ficus");
});

test("many plants get a tag, and are deleted, in one run each, but not what has changed or would be too large", async () => {
  const long = "x".repeat(900);
  await using context = await MemoryContext.of([
    ...roses(1_100),
    { id: 5_000n, name: long },
    { id: 5_001n, name: `${long}1` },
  ]);
  const changes = new PlantChanges(context);
  const edit = (plants: string, change: string, value = "") =>
    changes.edit({ plants, change, value }, client);
  const all = await shown(context);
  expect(all.split(" ")).toHaveLength(1_102);
  await edit(await shown(context, { idMin: "0", idMax: "9" }), "group", "new");
  // Beyond what the list shows of a long text.
  await edit(
    await shown(context, { idMin: "5001", idMax: "5001" }),
    "replace",
    plantJson(5_001n, `${long}2`),
  );
  await edit(await shown(context, { idMin: "10", idMax: "10" }), "delete");
  expect(await edit(all, "group", "t".repeat(80))).toMatchObject({
    edited: 1_089,
    left: [5_001n, 5_000n, ...Array.from({ length: 11 }, (_, at) => BigInt(10 - at))],
  });
  const tagged = await shown(context, { "is.tag": "t".repeat(80) });
  const { run } = await edit(tagged, "delete");
  expect(await shown(context, { "is.tag": "t".repeat(80) })).toBe("");
  expect(await changes.undo({ run, id: "" }, client)).toMatchObject({ undone: 1_089 });
  const restored = await shown(context, { "is.tag": "t".repeat(80) });
  const idsOf = (versions: string) => versions.replaceAll(/:\d+/g, "");
  expect([restored === tagged, idsOf(restored)]).toEqual([false, idsOf(tagged)]);
  expect(await edit(await shown(context, { idMin: "3", idMax: "3" }), "group")).toMatchObject({ edited: 1 });
  expect(context.store.get(plantStore, 3n)).toEqual(plant({ id: 3n, name: "Rosa" }));

  const tooMany = Array.from({ length: 10_001 }, (_, id) => `${id}:x`).join(" ");
  for (const [plants, change, value] of [
    ["3:x", "rename", ""],
    ["x:x", "delete", ""],
    ["3", "delete", ""],
    ["3:x", "group", "\0"],
    [tooMany, "delete", ""],
  ] as const)
    expect(await statusOf(edit(plants, change, value))).toBe(400);
});

test("a group may be null, which is not the text of that word, and a required one cannot be removed", async () => {
  const set = async (collection: SingleContract, value: string) => {
    await using context = new MemoryContext(collection);
    await context.store.create(toEntries(collection, [{ id: 1n, values: ["a"] }]));
    const changes = new PlantChanges(context);
    const edit = { plants: await shown(context), change: "group", value };
    const status = await statusOf(changes.edit(edit, client));
    return [
      status,
      context.store.get(collection, 1n)?.values[0],
      (await shown(context, { "is.group": value })) !== "",
    ];
  };
  const nullable = await contractWith({ group: { type: ["string", "null"] } }, [], {
    "x-plantstore-group": "group",
  });
  expect(await set(nullable, "null")).toEqual([200, null, true]);
  expect(await set(nullable, '"null"')).toEqual([200, "null", true]);
  expect(await set(nullable, "b")).toEqual([200, "b", true]);
  expect(await set(nullable, "")).toEqual([200, undefined, false]);
  const required = await contractWith({ group: { type: "string" } }, ["group"], {
    "x-plantstore-group": "group",
  });
  expect(await set(required, "")).toEqual([400, "a", false]);
});

test("the history of a plant has its newest edits, and undoes them", async () => {
  // Edits of one millisecond have no order.
  let now = Date.UTC(2026, 0, 1);
  using _ = spyOn(Date, "now").mockImplementation(() => now++);
  await using context = await MemoryContext.of(roses(9));
  const changes = new PlantChanges(context);
  const history = (parameters: Record<string, string>) => changes.history(new URLSearchParams(parameters));
  const edit = async (change: string, value = "") =>
    changes.edit({ plants: await shown(context, { idMin: "7", idMax: "7" }), change, value }, client);
  expect(await history({ id: "7" })).toEqual({ edits: [], isComplete: true });
  await edit("replace", plantJson(7n, "Rosa canina", ""));
  await edit("delete");
  const { edits: listed } = await history({ id: "7" });
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
  const undo = (run: string, id: string) => changes.undo({ run, id }, client);
  expect(await undo(change, "")).toMatchObject({ undone: 0, unchanged: 0, leftCount: 1 });
  expect(await undo(deletion, "7")).toMatchObject({ undone: 1, unchanged: 0, leftCount: 0 });
  expect(await undo(change, "")).toMatchObject({ undone: 1, unchanged: 0, leftCount: 0 });
  expect(context.store.get(plantStore, 7n)).toEqual(plant({ id: 7n, name: "Rosa" }));
  expect(await statusOf(undo(change, "8"))).toBe(404);
  expect(await statusOf(undo(change, "x"))).toBe(400);

  for (let count = 0; count < 98; count++) await edit("group", String(count));
  const { edits, isComplete } = await history({ id: "7" });
  expect([edits.length, isComplete]).toEqual([100, false]);
});

test("an edit and an undo that fail halfway report what they have made, and what changes meanwhile is left", async () => {
  await using context = await MemoryContext.of(roses(600));
  let edit: typeof context.store.edit;
  const store = { contract: plantStore, edit: (edits: Parameters<typeof edit>[0]) => edit(edits) };
  const changes = new PlantChanges(consoleContext({ ...context, store }));
  const failSecond = () => {
    let calls = 0;
    edit = async (edits) => {
      if (++calls === 2) throw new Error("the disk is full");
      return context.store.edit(edits);
    };
  };
  const deletion = { plants: await shown(context), change: "delete", value: "" };
  failSecond();
  expect(await settled(changes.edit(deletion, client))).toThrow("the disk is full");
  const deleted = 600 - context.store.count(plantStore);
  expect(deleted).toBeWithin(1, 600);
  expect(context.emitted.splice(0)).toMatchObject([{ message: "plants edited", fields: { deleted } }]);

  edit = async (edits) => edits.map(() => "changed");
  const rest = await shown(context);
  const left = { edited: 0, left: { length: 600 - deleted } };
  expect(await changes.edit({ ...deletion, plants: rest }, client)).toMatchObject(left);
  edit = (edits) => context.store.edit(edits);
  const { run } = await changes.edit({ ...deletion, plants: rest }, client);
  context.emitted.length = 0;
  failSecond();
  expect(await settled(changes.undo({ run, id: "" }, client))).toThrow("the disk is full");
  const restored = context.store.count(plantStore);
  expect(restored).toBeWithin(1, 600 - deleted);
  expect(context.emitted).toMatchObject([{ message: "plants edited", fields: { restored } }]);
  expect(context.created).toBe(restored);
});
