// The console's edits, of one plant and of many, their history and its undo, on a store in memory.

import { expect, spyOn, test } from "bun:test";
import { editSelected, findVersions } from "../../../src/console/bulk-edits.ts";
import { Edits } from "../../../src/console/edits.ts";
import { changePlant, deletePlant } from "../../../src/console/plants.ts";
import { EditRun } from "../../../src/operations/edits.ts";
import { consoleContext, MemoryContext } from "../../support/console.ts";
import { plantJson } from "../../support/http.ts";
import { settled } from "../../support/settled.ts";

const client = "192.0.2.1";

const statusOf = (work: () => Promise<unknown>) =>
  new Promise((resolve) => resolve(work())).then(
    () => 200,
    ({ status }) => status,
  );

const selection = (plants: readonly { id: bigint; version: string }[]) =>
  plants.map(({ id, version }) => `${id}:${version}`).join(" ");

/** The plants 0 to `count` - 1. */
function roses(count: number) {
  return Array.from({ length: count }, (_, id) => ({ id: BigInt(id), name: "Rosa" }));
}

test("a plant is changed and deleted only while it is what the operator was shown", async () => {
  await using context = await MemoryContext.of(roses(9));
  const edits = new Edits(context);
  const [old, changed] = [plantJson(7n, "Rosa"), plantJson(7n, "Ficus \u{1f331}", "")];
  const change = (expected: string, replacement: string) =>
    statusOf(() => changePlant(context, edits, { expected, replacement }, client));
  const remove = (expected: string) => statusOf(() => deletePlant(edits, { expected }, client));
  expect(await change(plantJson(7n, "Rosa", ""), changed)).toBe(409);
  expect(await change(old, changed)).toBe(200);
  expect(await change(old, changed)).toBe(409);
  expect([await remove(old), await remove(changed), await remove(changed)]).toEqual([409, 200, 404]);
  for (const invalid of [
    plantJson(1n, "another id"),
    old,
    '{"id": 7}',
    '{"id": 7, "name": "\\u0000"}',
    '{"id": 7, "name": "x", "tag": null}',
    '{"id": 7, "name": "\\ud800"}',
    "{",
    plantJson(7n, "x".repeat(context.bodyBytesMax)),
  ])
    expect(await change(old, invalid)).toBe(400);
  expect(context.emitted.map((event) => ("message" in event ? event.message : event.kind))).toEqual([
    "plant updated",
    "plant deleted",
    "plantsChanged",
  ]);
  expect(JSON.stringify(context.emitted)).not.toContain("Ficus");
});

test("the history of a plant has its edits by pages, and undoes them", async () => {
  // Edits of one millisecond have no order.
  let now = Date.UTC(2026, 0, 1);
  using _ = spyOn(Date, "now").mockImplementation(() => now++);
  await using context = await MemoryContext.of(roses(9));
  const edits = new Edits(context);
  const list = (parameters: Record<string, string>) => edits.list(new URLSearchParams(parameters));
  expect(await list({ id: "7" })).toEqual({ edits: [], next: null });
  const [old, changed] = [plantJson(7n, "Rosa"), plantJson(7n, "Rosa canina", "")];
  await changePlant(context, edits, { expected: old, replacement: changed }, client);
  await deletePlant(edits, { expected: changed }, client);
  const { edits: listed } = await list({ id: "7" });
  expect(listed as unknown[]).toEqual([
    {
      run: expect.any(String),
      editedAt: expect.stringMatching(/^20.*Z$/),
      editor: { by: "console", client },
      before: { name: "Rosa canina", tag: "" },
      after: null,
    },
    expect.objectContaining({ before: { name: "Rosa" }, after: { name: "Rosa canina", tag: "" } }),
  ]);
  const [deletion = "", change = ""] = listed.map(({ run }) => run);
  const undo = (run: string, id: string) => edits.undo({ run, id }, client);
  expect(await undo(change, "")).toEqual({ undone: 0, unchanged: 0, leftCount: 1 });
  expect(await undo(deletion, "7")).toEqual({ undone: 1, unchanged: 0, leftCount: 0 });
  expect(await undo(change, "")).toEqual({ undone: 1, unchanged: 0, leftCount: 0 });
  expect(context.store.get(7n)).toEqual({ id: 7n, name: "Rosa" });
  expect(await statusOf(() => undo(change, "8"))).toBe(404);
  expect(await statusOf(() => undo(change, "x"))).toBe(400);
  expect(await statusOf(() => list({ id: "7", before: "x" }))).toBe(400);

  for (let count = 0; count < 24; count++) {
    await changePlant(context, edits, { expected: old, replacement: changed }, client);
    await changePlant(context, edits, { expected: changed, replacement: old }, client);
  }
  const first = await list({ id: "7" });
  const rest = await list({ id: "7", before: first.next ?? "" });
  expect([first.edits.length, rest.edits.length, rest.next]).toEqual([50, 2, null]);
});

test("many plants get a tag, and are deleted, in one run each", async () => {
  await using context = await MemoryContext.of(
    Array.from({ length: 1_200 }, (_, id) => ({
      id: BigInt(id),
      name: `${id < 1_100 ? "Rosa" : "Hoya"} ${id}`,
      ...(id < 10 && { tag: "new" }),
    })),
  );
  const edits = new Edits(context);
  const find = async (parameters: Record<string, string>) =>
    (await findVersions(context, new URLSearchParams(parameters))).plants;
  const edit = (plants: Awaited<ReturnType<typeof find>>, change: string, group = "") =>
    editSelected(context, edits, { plants: selection(plants), change, group }, client);

  const ids = await find({ word: "rosa" });
  expect(ids).toHaveLength(1_100);
  // As the list: only the plant with the id, without the index.
  const seven = await find({ word: "7" });
  expect(seven.map(({ id }) => id)).toEqual([7n]);
  const tagged = await edit([...ids, ...seven, { id: 5_000n, version: "" }], "group", "new");
  expect(tagged).toMatchObject({
    edited: 1_090,
    unchanged: 10,
    changedMeanwhile: { count: 1, ids: [5_000n] },
    tooLarge: { count: 0, ids: [] },
  });
  expect(await find({ group: "new" })).toHaveLength(1_100);
  const { run } = await edit(await find({ idMin: "0", idMax: "499" }), "delete");
  expect(await find({ group: "new" })).toHaveLength(600);
  expect(await edits.undo({ run, id: "" }, client)).toMatchObject({ undone: 500 });
  expect(await edit(await find({ word: "3" }), "ungroup")).toMatchObject({ edited: 1 });
  expect(await find({ ungrouped: "true" })).toHaveLength(101);

  const tooMany = Array.from({ length: 10_001 }, (_, id) => ({ id: BigInt(id), version: "x" }));
  const call = (plants: string, change: string, group = "") =>
    editSelected(context, edits, { plants, change, group }, client);
  for (const wrong of [
    () => call("3:x", "rename"),
    () => call("x:x", "delete"),
    () => call("3", "delete"),
    () => call("3:x", "group", "\0"),
    () => edit(tooMany, "delete"),
  ])
    expect(await statusOf(wrong)).toBe(400);
});

test("an undo that fails halfway reports what it has undone", async () => {
  const plants = roses(300);
  await using context = await MemoryContext.of(plants);
  const deletion = new EditRun(context.store, { by: "console" });
  await deletion.edit(plants.map((plant) => ({ id: plant.id, expected: plant, replacement: undefined })));
  let calls = 0;
  const store: Pick<typeof context.store, "edit" | "openSql"> = {
    openSql: (access) => context.store.openSql(access),
    edit: async (edits, run) => {
      if (++calls === 2) throw new Error("the disk is full");
      return context.store.edit(edits, run);
    },
  };
  const edits = new Edits(consoleContext({ store, reader: context.reader, emit: context.emit }));
  expect(await settled(edits.undo({ run: deletion.id, id: "" }, "::1"))).toThrow("the disk is full");
  const restored = context.store.count();
  expect(restored).toBeWithin(1, 300);
  expect(context.emitted).toEqual([
    expect.objectContaining({ message: "plants edited", fields: expect.objectContaining({ restored }) }),
    expect.objectContaining({ kind: "plantsChanged", created: restored }),
  ]);
});
