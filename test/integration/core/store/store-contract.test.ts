// A store keeps its contract, takes over one that fits, and refuses others, on every engine.

import { afterAll, describe, expect, test } from "bun:test";
import type { Plant } from "../../../../src/core/contract/contract.ts";
import { plantStoreSource } from "../../../../src/core/contract/default-contract.ts";
import { parsePlantJson } from "../../../../src/core/contract/plant.ts";
import { storeAt } from "../../../../src/core/store/open-store.ts";
import { toEntries } from "../../../../src/core/store/plant-store.ts";
import { engines } from "../../../support/engines.ts";
import { settled } from "../../../support/settled.ts";
import { exported, openedStore } from "../../../support/stored-plants.ts";

type Json = Record<string, unknown>;

/** A contract of a shelf with these properties. */
function shelves(properties: Json, required: readonly string[] = ["name"], path = "/shelves") {
  const schema = {
    type: "object",
    required: ["id", ...required],
    properties: { id: { type: "integer" }, ...properties },
  };
  const content = { "application/json": { schema } };
  const post = { requestBody: { content }, responses: { 200: { description: "ok", content } } };
  const document = {
    openapi: "3.1.0",
    info: { title: "Shelves", version: "1" },
    paths: { [path]: { post } },
  };
  return { text: JSON.stringify(document) };
}

const own = {
  name: { type: "string", maxLength: 10 },
  size: { type: "integer", minimum: 1, maximum: 9 },
  kind: { type: "string", enum: ["a", "b"] },
};
const original = shelves(own);

for (const engine of engines)
  describe(engine.name, () => {
    const resources = new AsyncDisposableStack();
    afterAll(() => resources.disposeAsync());

    /** A store of the original contract with one shelf. */
    async function newStore(): Promise<string> {
      const { database } = resources.use(await engine.createTestStore());
      await using store = await openedStore(database, undefined, original);
      const shelf = parsePlantJson(store.contract, '{"id":1,"name":"top","size":3}') as Plant;
      expect(await store.create(toEntries([shelf]))).toEqual(["created"]);
      return database;
    }

    test("the contract that a store was created with is its own from then on", async () => {
      const database = await newStore();
      for (const wanted of [undefined, original, undefined]) {
        await using store = await openedStore(database, undefined, wanted);
        expect(store.contract.source).toEqual(original);
        expect(store.contract.words.many).toBe("shelves");
      }
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
    });

    test.each<[what: string, wanted: ReturnType<typeof shelves>, added: string]>([
      ["fields that are added", shelves({ ...own, note: { type: "string" } }), ""],
      [
        "wider limits",
        shelves({ ...own, name: { type: "string", maxLength: 99 }, size: { type: "integer", minimum: 0 } }),
        "",
      ],
      [
        "formats and limits that restrict nothing",
        shelves({
          ...own,
          name: { ...own.name, format: "password", minLength: 0 },
          size: { ...own.size, format: "int64" },
        }),
        "",
      ],
      ["more values", shelves({ ...own, kind: { type: "string", enum: ["b", "c", "a"] } }), ""],
      [
        "other descriptions",
        shelves({ ...own, name: { ...own.name, description: "A name.", examples: ["x"] } }),
        "",
      ],
      ["a field that is gone", shelves({ name: own.name, size: own.size }), ""],
      [
        "a required field with a default",
        shelves({ ...own, room: { type: "string", default: "hall" } }, ["name", "room"]),
        ',"room":"hall"',
      ],
      ["a field that is optional now", shelves(own, []), ""],
      [
        "a field that is required now, with a default",
        shelves({ ...own, kind: { ...own.kind, default: "b" } }, ["name", "kind"]),
        ',"kind":"b"',
      ],
    ])("%s are taken over", async (_, wanted, added) => {
      const database = await newStore();
      const checking = storeAt(database).open("existing", () => undefined, { contract: wanted });
      expect(await settled(checking)).toThrow('run "plantstore migrate" with this --contract first');
      {
        await using store = await openedStore(database, undefined, wanted);
        expect(store.contract.source).toEqual(wanted);
      }
      expect(await exported(database)).toBe(`{"id":1,"name":"top","size":3${added}}\n`);
    });

    test("a field that comes back has its values, unless its type is another", async () => {
      const database = await newStore();
      for (const wanted of [shelves({ name: own.name }), original])
        await (await openedStore(database, undefined, wanted))[Symbol.asyncDispose]();
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
      await (await openedStore(database, undefined, shelves({ name: own.name })))[Symbol.asyncDispose]();
      const other = shelves({ name: own.name, size: { type: "string" } });
      expect(await settled(openedStore(database, undefined, other))).toThrow(
        'the store has values of "size" as ',
      );
    });

    test.each<[what: string, wanted: ReturnType<typeof shelves>, reason: string]>([
      [
        "another collection",
        shelves(own, ["name"], "/racks"),
        "its collection is /shelves, and would be /racks",
      ],
      [
        "another type",
        shelves({ ...own, size: { type: "string" } }),
        '"size" was an integer (int64), at least 1 and at most 9, and would be a string',
      ],
      [
        "a narrower limit",
        shelves({ ...own, name: { type: "string", maxLength: 9 } }),
        '"name" was a string of at most 10 characters, and would be a string of at most 9 characters',
      ],
      [
        "a value less",
        shelves({ ...own, kind: { type: "string", enum: ["a"] } }),
        '"kind" was one of "a", "b", and would be one of "a"',
      ],
      ["a new limit", shelves({ ...own, name: { ...own.name, minLength: 1 } }), '"name" was '],
      [
        "a required field without a default",
        shelves({ ...own, room: { type: "string" } }, ["name", "room"]),
        '"room" was no field, and would be required without a default',
      ],
      [
        "a field that is required now",
        shelves(own, ["name", "kind"]),
        '"kind" was optional, and would be required without a default',
      ],
      ["the Plant Store", plantStoreSource, "its collection is /shelves, and would be /plants"],
    ])("%s is refused, and changes nothing", async (_, wanted, reason) => {
      const database = await newStore();
      expect(await settled(openedStore(database, undefined, wanted))).toThrow(reason);
      await using store = await openedStore(database);
      expect(store.contract.source).toEqual(original);
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
    });

    test("of servers that start at once with two versions of a contract, one after the other has the store, and nothing is lost", async () => {
      const database = await newStore();
      const newer = shelves({ ...own, note: { type: "string" } });
      await using first = await openedStore(database);
      const shelf = (id: number) => parsePlantJson(first.contract, `{"id":${id},"name":"s"}`) as Plant;
      const creating = (async () => {
        for (let id = 100; id < 140; id++)
          expect(await first.create(toEntries([shelf(id)]))).toEqual(["created"]);
      })();
      const starts = await Promise.all(
        [newer, newer, newer].map((wanted) => openedStore(database, undefined, wanted)),
      );
      await creating;
      for (const store of starts) {
        expect(store.contract.source).toEqual(newer);
        await store[Symbol.asyncDispose]();
      }
      expect((await exported(database)).trimEnd().split("\n")).toHaveLength(41);
    });
  });
