// The history of edits, and their undo, on every engine.

import { describe, expect, test } from "bun:test";
import type { Plant, Values } from "../../../src/contract/contract.ts";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { type Editor, EditRun } from "../../../src/plants/edit-run.ts";
import { type HistoryFilter, listEdits, type Undone, undoRun } from "../../../src/plants/edits.ts";
import { type PlantStore, toEntries } from "../../../src/store/plant-store.ts";
import { findPlants, type StoredPlant } from "../../../src/store/shared/plant-rows.ts";
import type { SqlConnection } from "../../../src/store/sql-connection.ts";
import { plant, plantStore, values } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { changed, changeOf, editOne, exported, openedStore, runSql } from "../../support/stored-plants.ts";

const ada: Editor = { by: "command", uid: 1000, user: "ada", sudoUser: "bob" };
const maxId = 2n ** 63n - 1n;

interface OpenStore {
  readonly store: PlantStore;
  /** Reads a plant that is stored. */
  read(id: PlantId): Promise<StoredPlant>;
  readonly sql: SqlConnection;
  readonly database: string;
  /** Undoes edits, in a new run. */
  undo(filter: Parameters<typeof undoRun>[3]): Promise<Undone & { readonly undo: string }>;
}

for (const engine of engines) {
  describe(engine.name, () => {
    /** Runs a test on an open store with these plants. */
    async function withPlants(plants: readonly Plant[], use: (open: OpenStore) => Promise<void>) {
      await using place = await engine.createTestStore();
      const { database } = place;
      await using store = await openedStore(database);
      await using read = await store.openSql();
      await store.create(toEntries(plantStore, plants, await store.tokens.creatorKey("ci")));
      const undo: OpenStore["undo"] = async (filter) => {
        const run = new EditRun(store, ada);
        return { undo: run.id, ...(await undoRun(plantStore, run, read, filter)) };
      };
      const readOne = async (id: PlantId) => {
        const found = (await findPlants(plantStore, read, [id])).get(id);
        if (found === undefined) throw new Error(`the plant ${id} is gone`);
        return found;
      };
      await use({ store, sql: read, read: readOne, database, undo });
    }

    const ficus = plant({ id: -7n, name: "Ficus 🌿", tag: "" });
    const aloe = plant({ id: maxId, name: 'Aloe "vera"' });

    test("an edit and a deletion are recorded with who made them, and creates are not", async () => {
      await withPlants([ficus, aloe], async ({ store, sql, read }) => {
        const startedAt = Date.now();
        const run = new EditRun(store, ada);
        const renamed = plant({ id: -7n, name: "Ficus", tag: "tree" });
        const [storedFicus, storedAloe] = [await read(-7n), await read(maxId)];
        expect(
          await run.edit(plantStore, [
            changeOf(storedAloe, undefined),
            changeOf({ ...storedAloe, id: 5n }, undefined),
            changeOf({ ...storedFicus, version: storedFicus.version - 1n }, undefined),
            changeOf(storedFicus, renamed.values),
          ]),
        ).toEqual(["done", "changed", "changed", "done"]);
        const { entries } = await listEdits(plantStore, sql, {});
        expect(entries).toMatchObject([
          { run: run.id, id: -7n, editor: ada, before: ficus, after: renamed },
          { run: run.id, id: maxId, editor: ada, before: aloe, after: undefined },
        ]);
        for (const { editedAt } of entries) expect(editedAt).toBeWithin(startedAt, Date.now() + 1);
        await new EditRun(store, { by: "console", client: "::1" }).edit(plantStore, [
          changeOf(await read(-7n), ficus.values),
        ]);
        const listed = async (filter: HistoryFilter) =>
          (await listEdits(plantStore, sql, filter)).entries.map(({ id, after }) => [
            id,
            (after as Plant | undefined)?.values[0],
          ]);
        expect(await listed({ id: -7n })).toEqual([
          [-7n, ficus.values[0]],
          [-7n, "Ficus"],
        ]);
        const { entries: all, next: end } = await listEdits(plantStore, sql, {});
        expect(end).toBeUndefined();
        const paged = [];
        let after: HistoryFilter["after"];
        do {
          const page = await listEdits(plantStore, sql, { after }, 1);
          paged.push(...page.entries);
          after = page.next;
        } while (after !== undefined);
        expect(paged).toEqual([...all]);
      });
    });

    test("an edit is made only to the plant that was expected, and later creates are compared with it", async () => {
      const id = 2n ** 62n;
      const [one, other] = [values({ name: "one", tag: "" }), values({ name: "other" })];
      await withPlants([{ id, values: one }], async ({ store, read }) => {
        const outcomesOf = (...all: Values[]) =>
          store.create(
            toEntries(
              plantStore,
              all.map((each) => ({ id, values: each })),
            ),
          );
        const first = await read(id);
        for (const version of [first.version - 1n, first.version + 1n, 0n])
          expect(await editOne(store, changeOf({ ...first, version }, undefined))).toBe("changed");
        const change = changeOf(first, other);
        expect(await editOne(store, change)).toBe("done");
        expect(await editOne(store, change)).toBe("changed");
        expect(await read(id)).toEqual(changed(change));
        expect(await outcomesOf(one, other)).toEqual(["conflict", "unchanged"]);
        // Back to the first values, with a version of its own.
        expect(await editOne(store, changeOf(await read(id), one))).toBe("done");
        expect(await editOne(store, changeOf(first, undefined))).toBe("changed");
        expect(await editOne(store, changeOf(await read(id), undefined))).toBe("done");
        expect(await outcomesOf(one, other)).toEqual(["created", "conflict"]);
        expect(await editOne(store, changeOf(first, undefined))).toBe("changed");
      });
    });

    test("edits beside creates of the same ids lose nothing that was acknowledged", async () => {
      const plants = Array.from({ length: 8 }, (_, index) => plant({ id: BigInt(index), name: "0" }));
      await withPlants(plants, async ({ store, read }) => {
        // Each plant counts up in its name, by two editors at a time, while creates of the first
        // and of a new plant arrive.
        const done = new Map(plants.map(({ id }) => [id, 0]));
        const editing = [...plants, ...plants].map(async ({ id }) => {
          for (let round = 0; round < 10; round++) {
            const stored = await read(id);
            const replacement = values({ name: String(Number(stored.values[0]) + 1) });
            if ((await editOne(store, changeOf(stored, replacement))) === "done")
              done.set(id, (done.get(id) ?? 0) + 1);
          }
        });
        const creating = Array.from({ length: 20 }, (_, round) =>
          store.create(toEntries(plantStore, [...plants, plant({ id: BigInt(1_000 + round), name: "new" })])),
        );
        await Promise.all(editing);
        for (const outcomes of await Promise.all(creating)) {
          expect(outcomes.at(-1)).toBe("created");
          for (const outcome of outcomes.slice(0, -1)) expect(outcome).toBeOneOf(["unchanged", "conflict"]);
        }
        for (const { id } of plants)
          expect(await read(id)).toMatchObject(plant({ id: BigInt(id), name: String(done.get(id)) }));
      });
    });

    test("an undo brings back what was changed and deleted, with its creation, and can be undone", async () => {
      await withPlants([ficus, aloe], async ({ store, sql, read, database, undo }) => {
        const before = await exported(database);
        const creationOf = (id: bigint) =>
          sql.query("SELECT created_at, creator FROM plants WHERE id = $1", [id]);
        const creation = await creationOf(maxId);
        const run = new EditRun(store, ada);
        // A plant that is edited twice in a run.
        const first = changeOf(await read(-7n), values({ name: "1" }));
        await run.edit(plantStore, [
          first,
          changeOf(changed(first), values({ name: "2", tag: "x" })),
          changeOf(await read(maxId), undefined),
        ]);
        const after = await exported(database);
        const undone = await undo({ run: run.id });
        expect(undone).toMatchObject({ found: 3, undone: 3, unchanged: 0, left: [] });
        expect(await exported(database)).toBe(before);
        expect(await creationOf(maxId)).toEqual(creation);
        const twice = await undo({ run: run.id });
        expect(twice).toMatchObject({ found: 3, undone: 0, unchanged: 2, left: [] });
        expect(await exported(database)).toBe(before);
        expect(await undo({ run: undone.undo })).toMatchObject({ undone: 3, left: [] });
        expect(await exported(database)).toBe(after);
        expect(await undo({ run: "none" })).toMatchObject({ found: 0, undone: 0 });
      });
    });

    test("an undo leaves plants that have changed since, or were created again", async () => {
      const plants = [1n, 2n, 3n, 4n].map((id) => plant({ id, name: `Rosa ${id}` }));
      await withPlants(plants, async ({ store, sql, undo }) => {
        const run = new EditRun(store, ada);
        await run.edit(
          plantStore,
          plants.map(({ id }) => ({ id, expected: "any", replacement: undefined })),
        );
        await store.create(toEntries(plantStore, [plant({ id: 2n, name: "another" })]));
        await store.create(toEntries(plantStore, [plant({ id: 3n, name: "Rosa 3" })]));
        const one = await undo({ run: run.id, id: 4n });
        expect(one).toMatchObject({ found: 1, undone: 1, left: [] });
        expect(await undo({ run: run.id })).toMatchObject({ found: 4, undone: 1, unchanged: 2, left: [2n] });
        const stored = await findPlants(plantStore, sql, [1n, 2n, 3n, 4n, 5n]);
        expect([...stored.values()].map(({ values: [name] }) => name).toSorted()).toEqual([
          "Rosa 1",
          "Rosa 3",
          "Rosa 4",
          "another",
        ]);
      });
    });

    test("an undo counts a plant that was edited twice and has changed since once", async () => {
      await withPlants([ficus], async ({ store, read, undo }) => {
        const run = new EditRun(store, ada);
        const [first, second, third] = ["1", "2", "3"].map((name) => values({ name })) as [
          Values,
          Values,
          Values,
        ];
        const change = changeOf(await read(-7n), first);
        await run.edit(plantStore, [change, changeOf(changed(change), second)]);
        expect(await editOne(store, changeOf(await read(-7n), third))).toBe("done");
        expect(await undo({ run: run.id })).toMatchObject({ undone: 0, unchanged: 0, left: [-7n] });
        // As it was between the two edits, by somebody else's change, which stays.
        expect(await editOne(store, changeOf(await read(-7n), first))).toBe("done");
        expect(await undo({ run: run.id })).toMatchObject({ undone: 0, unchanged: 0, left: [-7n] });
        expect((await read(-7n)).values).toEqual(first);
      });
    });

    test("a page of the history is limited in bytes, and an index has the edits of a plant in its order", async () => {
      await withPlants([ficus], async ({ store, sql, read }) => {
        const long = (index: number) => values({ name: `${index} ${"x".repeat(900_000)}` });
        const run = new EditRun(store, ada);
        for (let index = 0; index < 7; index++)
          await run.edit(plantStore, [changeOf(await read(-7n), long(index))]);
        const pages: number[] = [];
        const found: unknown[] = [];
        let after: HistoryFilter["after"];
        do {
          const page = await listEdits(plantStore, sql, { collection: plantStore, id: -7n, after });
          pages.push(page.entries.length);
          found.push(...page.entries.map(({ after: plant }) => (plant as Plant).values[0]));
          after = page.next;
        } while (after !== undefined);
        expect(pages).toEqual([2, 2, 2, 1]);
        expect(found).toEqual([6, 5, 4, 3, 2, 1, 0].map((index) => long(index)[0]));

        if (sql.dialect !== "sqlite") return;
        const plan = await sql.query<{ detail: string }>(
          "EXPLAIN QUERY PLAN SELECT 1 FROM edits WHERE collection IN ('plants') AND plant_id = '-7' ORDER BY version DESC",
        );
        expect(plan.map(({ detail }) => detail).join()).not.toContain("TEMP B-TREE");
      });
    });

    test("hundreds of edits of one plant in a run are undone as a whole, although the clock was set back", async () => {
      await withPlants([ficus, aloe], async ({ store, read, database, undo }) => {
        const before = await exported(database);
        const run = new EditRun(store, ada);
        const edits = [changeOf(await read(maxId), values({ name: "name 0" }))];
        for (let last = edits[0]; last !== undefined && edits.length < 450; edits.push(last))
          last = changeOf(changed(last), values({ name: `name ${edits.length}` }));
        await run.edit(plantStore, edits);
        await runSql(database, "UPDATE edits SET edited_at = edited_at - 1000 * seq");
        const after = await exported(database);
        const undone = await undo({ run: run.id });
        expect(undone).toMatchObject({ found: 450, undone: 450, left: [] });
        expect(await exported(database)).toBe(before);
        await undo({ run: undone.undo, id: maxId });
        expect(await exported(database)).toBe(after);
      });
    });
  });
}
