// A store keeps its contract, takes over one that fits, and refuses others, on every engine.

import { afterAll, describe, expect, test } from "bun:test";
import type { ContractSource, Plant } from "../../../src/contract/contract.ts";
import { parsePlantJson } from "../../../src/contract/plant.ts";
import { compiler } from "../../../src/openapi/compiler.ts";
import type { MigrationReport } from "../../../src/store/migration/store-contract.ts";
import { storeAt } from "../../../src/store/open-store.ts";
import { type PlantStore, toEntries } from "../../../src/store/plant-store.ts";
import { onlyCollection, shelfFields, shelves } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { settled } from "../../support/settled.ts";
import { exported, openedStore, unexpected } from "../../support/stored-plants.ts";

const original = shelves(shelfFields);

for (const engine of engines)
  describe(engine.name, () => {
    const resources = new AsyncDisposableStack();
    afterAll(() => resources.disposeAsync());

    const parsed = ({ contract }: PlantStore, json: string) =>
      parsePlantJson(onlyCollection(contract), json) as Plant;

    /** A store of the original contract with one shelf. */
    async function newStore(): Promise<string> {
      const { database } = resources.use(await engine.createTestStore(original));
      await using store = await openedStore(database, undefined, original);
      const shelf = parsed(store, '{"id":1,"name":"top","size":3}');
      expect(await store.create(toEntries(onlyCollection(store.contract), [shelf]))).toEqual(["created"]);
      return database;
    }

    test("the contract that a store was created with is its own from then on", async () => {
      const database = await newStore();
      for (const wanted of [undefined, original, undefined]) {
        await using store = await openedStore(database, undefined, wanted);
        expect(store.contract.source).toEqual(original);
        expect(onlyCollection(store.contract).words.many).toBe("shelves");
      }
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
    });

    test.each<[what: string, wanted: ReturnType<typeof shelves>, added: string]>([
      ["fields that are added", shelves({ ...shelfFields, note: { type: "string" } }), ""],
      ["a field that is gone", shelves({ name: shelfFields.name, size: shelfFields.size }), ""],
      [
        "a required field with a default",
        shelves({ ...shelfFields, room: { type: "string", default: "hall $1" } }, ["name", "room"]),
        ',"room":"hall $1"',
      ],
      [
        "a field that is required now, with a default",
        shelves({ ...shelfFields, kind: { ...shelfFields.kind, default: "b" } }, ["name", "kind"]),
        ',"kind":"b"',
      ],
    ])("%s are taken over", async (_, wanted, added) => {
      const database = await newStore();
      const checking = storeAt(database).open("existing", () => undefined, { compiler, contract: wanted });
      expect(await settled(checking)).toThrow(
        'has another contract; run "plantstore migrate" with this --contract first',
      );
      {
        await using store = await openedStore(database, undefined, wanted);
        expect(store.contract.source).toEqual(wanted);
      }
      expect(await exported(database)).toBe(`{"id":1,"name":"top","size":3${added}}\n`);
    });

    /** Gives a store another contract, as `plantstore migrate` does; its report. */
    async function migrated(database: string, wanted: ContractSource, ...dropFields: string[]) {
      const reports: MigrationReport[] = [];
      const options = {
        contract: wanted,
        dropFields,
        onMigrated: (made: MigrationReport) => reports.push(made),
      };
      await using _ = await storeAt(database).open("create", unexpected, { compiler, ...options });
      return reports;
    }

    const { name, size, kind } = shelfFields;

    test("a field with values is dropped only by its name, and comes back with its values", async () => {
      const database = await newStore();
      const renamed = shelves({ name, kind, sizes: size });
      const refusal = `the contract no longer has "size" (values in 1 shelve), and adds "sizes"; run "plantstore migrate" with this --contract and --drop-fields size to hide what it drops, which stays in the store`;
      expect(await settled(openedStore(database, undefined, renamed))).toThrow(refusal);
      expect(await settled(migrated(database, renamed))).toThrow(refusal);
      expect(await settled(migrated(database, renamed, "kind"))).toThrow(refusal);
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
      expect(await migrated(database, renamed, "size", "kind")).toEqual([
        { isNew: false, added: ['"sizes"'], dropped: ['"size" (values in 1 shelve)'] },
      ]);
      expect(await migrated(database, renamed)).toEqual([]);
      expect(await exported(database)).toBe('{"id":1,"name":"top"}\n');
      // Also after a further contract without it.
      await migrated(database, shelves({ name, kind, note: { type: "string" } }));
      const returned = shelves({ name, kind, size: { ...size, description: "In metres." } });
      await (await openedStore(database, undefined, returned))[Symbol.asyncDispose]();
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
    });

    test("a field that comes back with another schema is refused while there are values of it", async () => {
      const database = await newStore();
      const without = shelves({ name });
      await migrated(database, without, "size");
      for (const other of [{ type: "integer", maximum: 2 }, { type: "string" }])
        expect(await settled(openedStore(database, undefined, shelves({ name, size: other })))).toThrow(
          'the store or its history has values of "size" from an earlier contract, which this one might not accept; give the field the schema that it had, or another name',
        );
      {
        await using store = await openedStore(database);
        expect(store.contract.source).toEqual(without);
      }
      // No shelf has a kind.
      await using store = await openedStore(
        database,
        undefined,
        shelves({ name, kind: { type: ["object", "null"] } }),
      );
      const shelf = parsed(store, '{"id":3,"name":"s","kind":{"a":1}}');
      expect(await store.create(toEntries(onlyCollection(store.contract), [shelf]))).toEqual(["created"]);
    });

    test("the message for a required field with a new name has both", async () => {
      const database = await newStore();
      const wanted = shelves({ title: name, size, kind }, ["title"]);
      expect(await settled(openedStore(database, undefined, wanted))).toThrow(
        '"name" would be gone, and "title" was no field, and would be required without a default that can be stored',
      );
    });

    test("a collection with resources is dropped only by its path, and comes back with them", async () => {
      const database = await newStore();
      const racks = shelves({ name }, ["name"], "/racks");
      const both = (shelf: ContractSource) => {
        const [one, other] = [shelf, racks].map(({ text }) => JSON.parse(text));
        const get = {
          parameters: [{ name: "id", in: "path", required: true, schema: {} }],
          responses: { 200: { description: "ok" } },
        };
        const items = { "/shelves/{id}": { get }, "/racks/{id}": { get } };
        return { text: JSON.stringify({ ...one, paths: { ...one.paths, ...other.paths, ...items } }) };
      };
      expect(await migrated(database, both(original))).toEqual([
        { isNew: false, added: ["/racks"], dropped: [] },
      ]);
      expect(await settled(migrated(database, racks))).toThrow(
        'the contract no longer has /shelves (1 shelve); run "plantstore migrate" with this --contract and --drop-fields /shelves',
      );
      expect(await migrated(database, racks, "/shelves")).toEqual([
        { isNew: false, added: [], dropped: ["/shelves (1 shelve)"] },
      ]);
      const narrower = shelves({ name: { ...name, maxLength: 2 }, size, kind });
      expect(await settled(migrated(database, both(narrower)))).toThrow(
        'values of "name" from an earlier contract',
      );
      const stricter = both(shelves(shelfFields, ["name", "kind"]));
      expect(await settled(migrated(database, stricter))).toThrow(
        'of /shelves, "kind" was not required when the collection was dropped',
      );
      const texts = both({
        text: original.text.replaceAll('"id":{"type":"integer"}', '"id":{"type":"string"}'),
      });
      expect(await settled(migrated(database, texts))).toThrow(
        'of /shelves, "id" was validated by another schema when the collection was dropped',
      );
      // Racks have no rows, so that they may go.
      expect(await migrated(database, original)).toEqual([
        { isNew: false, added: ["/shelves"], dropped: ["/racks (0 racks)"] },
      ]);
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
    });

    test("a field that comes back with another schema is refused while a deleted plant had it", async () => {
      const database = await newStore();
      {
        await using store = await openedStore(database);
        const edit = { id: 1n, expected: "any", replacement: undefined } as const;
        expect(
          await store.edit([
            {
              table: onlyCollection(store.contract).table,
              edit,
              run: "r",
              seq: 0,
              editor: "{}",
              editedAt: 0,
            },
          ]),
        ).toEqual(["done"]);
      }
      const without = shelves({ name: shelfFields.name });
      await (await openedStore(database, undefined, without))[Symbol.asyncDispose]();
      const wider = shelves({ ...shelfFields, size: { type: "integer" } });
      expect(await settled(openedStore(database, undefined, wider))).toThrow(
        'the store or its history has values of "size" from an earlier contract',
      );
      await (await openedStore(database, undefined, shelves({ name, kind })))[Symbol.asyncDispose]();
      await (await openedStore(database, undefined, without))[Symbol.asyncDispose]();
      const other = shelves({ name, kind: { type: "boolean" } });
      expect(await settled(openedStore(database, undefined, other))).toThrow(
        'the store has a column of text for "kind" from an earlier contract, which would be a boolean',
      );
    });

    test("fields may have the names of columns and tables that the engines and the store have", async () => {
      const names =
        "xmin xmax cmin cmax ctid tableoid oid rowid creator created_at plants creators editor bytes last rank";
      const fields = names.split(" ");
      const source = shelves(Object.fromEntries(fields.map((name) => [name, { type: "number" }])), []);
      const { database } = resources.use(await engine.createTestStore(source));
      const json = JSON.stringify({ id: 1, ...Object.fromEntries(fields.map((name, at) => [name, at])) });
      {
        await using store = await openedStore(database, undefined, source);
        const shelf = parsed(store, json);
        for (const outcome of ["created", "unchanged"] as const)
          expect(await store.create(toEntries(onlyCollection(store.contract), [shelf]))).toEqual([outcome]);
      }
      expect(await exported(database)).toBe(`${json}\n`);
    });

    test("another type is refused, and changes nothing", async () => {
      const database = await newStore();
      const wanted = shelves({ ...shelfFields, size: { type: "string" } });
      expect(await settled(openedStore(database, undefined, wanted))).toThrow(
        'the store has another contract, which it keeps: "size" was ',
      );
      await using store = await openedStore(database);
      expect(store.contract.source).toEqual(original);
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
    });

    test("of servers that start at once with two versions of a contract, one after the other has the store, and nothing is lost", async () => {
      const database = await newStore();
      const newer = shelves({ ...shelfFields, note: { type: "string" } });
      await using first = await openedStore(database);
      const shelf = (id: number) => parsed(first, `{"id":${id},"name":"s"}`);
      const creating = (async () => {
        for (let id = 100; id < 140; id++)
          expect(await first.create(toEntries(onlyCollection(first.contract), [shelf(id)]))).toEqual([
            "created",
          ]);
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
