// A store keeps its contract, takes over one that fits, and refuses others, on every engine.

import { afterAll, describe, expect, test } from "bun:test";
import type { ContractSource, Plant, Values } from "../../../src/contract/contract.ts";
import { parsePlantJson } from "../../../src/contract/plant.ts";
import { compiler } from "../../../src/openapi/compiler.ts";
import { EditRun } from "../../../src/plants/edit-run.ts";
import { listEdits } from "../../../src/plants/edits.ts";
import type { MigrationReport } from "../../../src/store/migration/contract-change.ts";
import { storeAt } from "../../../src/store/open-store.ts";
import { type OpenOptions, type PlantStore, toEntries } from "../../../src/store/plant-store.ts";
import { findPlants, type StoredPlant } from "../../../src/store/shared/plant-rows.ts";
import { onlyCollection, shelfFields, shelves } from "../../support/contracts.ts";
import { engines } from "../../support/engines.ts";
import { settled } from "../../support/settled.ts";
import { changeOf, exported, openedStore, unexpected } from "../../support/stored-plants.ts";

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
    async function migrate(
      database: string,
      wanted: ContractSource,
      options: Pick<OpenOptions, "dropFields" | "renames">,
    ) {
      const reports: MigrationReport[] = [];
      const onMigrated = (made: MigrationReport) => reports.push(made);
      const choice = { compiler, contract: wanted, onMigrated, dropFields: [], ...options };
      await using _ = await storeAt(database).open("create", unexpected, choice);
      return reports;
    }

    function migrated(database: string, wanted: ContractSource, ...dropFields: string[]) {
      return migrate(database, wanted, { dropFields });
    }

    /** Changes or deletes the shelf of a new store. */
    async function edit(database: string, replacement: Values | undefined) {
      await using store = await openedStore(database);
      await using sql = await store.openSql();
      const collection = onlyCollection(store.contract);
      const shelf = (await findPlants(collection, sql, [1n])).get(1n) as StoredPlant;
      const run = new EditRun(store, { by: "command", user: "test" });
      expect(await run.edit(collection, [changeOf(shelf, replacement)])).toEqual(["done"]);
    }

    const { name, size, kind } = shelfFields;

    test("a field with values is dropped only by its name, and its values are gone", async () => {
      const database = await newStore();
      const renamed = shelves({ name, kind, sizes: size });
      const refusal = `the contract no longer has "size" (values in 1 shelve), and adds "sizes"; run "plantstore migrate" with this --contract and --rename-fields OLD=NEW for what has another name, or, after a backup, with --drop-fields size to delete the values`;
      expect(await settled(openedStore(database, undefined, renamed))).toThrow(refusal);
      expect(await settled(migrated(database, renamed))).toThrow(refusal);
      expect(await settled(migrated(database, renamed, "kind"))).toThrow(refusal);
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
      expect(await migrated(database, renamed, "size", "kind")).toEqual([
        { isNew: false, added: ['"sizes"'], renamed: [], dropped: ['"size" (values in 1 shelve)'] },
      ]);
      expect(await migrated(database, renamed)).toEqual([]);
      expect(await exported(database)).toBe('{"id":1,"name":"top"}\n');
      // With whatever type.
      const returned = shelves({ name, kind, size: { type: ["object", "null"] } });
      await (await openedStore(database, undefined, returned))[Symbol.asyncDispose]();
      expect(await exported(database)).toBe('{"id":1,"name":"top"}\n');
    });

    test("a field that was added with a default, dropped, and added without one has no value", async () => {
      const database = await newStore();
      const room = { type: "string", default: "hall" };
      await migrated(database, shelves({ ...shelfFields, room }, ["name", "room"]));
      await migrated(database, original, "room");
      await migrated(database, shelves({ ...shelfFields, room: { type: "string" } }));
      expect(await exported(database)).toBe('{"id":1,"name":"top","size":3}\n');
    });

    test("what was opened before a change reads nothing by the former names", async () => {
      const database = await newStore();
      await using store = await openedStore(database);
      await using sql = await store.openSql();
      const collection = onlyCollection(store.contract);
      const renames = new Map([["size", "width"]]);
      await migrate(database, shelves({ name, kind, width: size }), { renames });
      const outdated = "the contract of the store has changed; try again";
      expect(await settled(findPlants(collection, sql, [1n]))).toThrow(outdated);
      const query = `SELECT id FROM "${collection.table}" WHERE "size" = 3`;
      expect(await settled(sql.query(query))).toThrow(outdated);
    });

    test("a field, an id and a path that are renamed keep what they hold", async () => {
      const database = await newStore();
      await edit(database, ["top", 4n, "b"]);
      const racks = (properties: object) => {
        const { paths, ...others } = JSON.parse(
          shelves({ title: name, ...properties }, ["title"], "/racks").text.replaceAll('"id"', '"number"'),
        );
        const parameters = [{ name: "number", in: "path", required: true, schema: {} }];
        const get = { parameters, responses: { 200: { description: "ok" } } };
        return { text: JSON.stringify({ ...others, paths: { ...paths, "/racks/{number}": { get } } }) };
      };
      const renames = [
        ["/shelves", "/racks"],
        ["id", "number"],
        ["name", "title"],
      ] as const;
      const crossed = new Map([...renames, ["size", "kind"], ["kind", "size"]] as const);
      expect(
        await settled(migrate(database, racks({ size: kind, kind: size }), { renames: crossed })),
      ).toThrow("under its former name");
      const swapped = racks({ width: kind, sort: size });
      const said = new Map([...renames, ["size", "sort"], ["kind", "width"]] as const);
      expect(await migrate(database, swapped, { renames: said })).toEqual([
        {
          isNew: false,
          added: [],
          renamed: [
            "/shelves to /racks",
            '"id" to "number"',
            '"name" to "title"',
            '"size" to "sort"',
            '"kind" to "width"',
          ],
          dropped: [],
        },
      ]);
      expect(await exported(database)).toBe('{"number":1,"title":"top","width":"b","sort":4}\n');
      await using store = await openedStore(database);
      await using sql = await store.openSql();
      const { entries } = await listEdits(store.contract, sql, {});
      expect(
        entries.map((entry) =>
          [entry.before, entry.after].map((each) => (each as Plant | undefined)?.values),
        ),
      ).toEqual([
        [
          ["top", undefined, 3n],
          ["top", "b", 4n],
        ],
      ]);
    });

    test("a store with /a-b gives neither its rows nor its history to /a_b", async () => {
      const [dashed, plain] = ["/a-b", "/a_b"].map((path) => shelves({ name }, ["name"], path)) as [
        ContractSource,
        ContractSource,
      ];
      const { database } = resources.use(await engine.createTestStore(dashed));
      {
        await using store = await openedStore(database, undefined, dashed);
        const one = parsed(store, '{"id":1,"name":"a"}');
        await store.create(toEntries(onlyCollection(store.contract), [one]));
      }
      expect(await settled(migrated(database, plain))).toThrow("the contract no longer has /a-b (1 ");
      await migrate(database, plain, { renames: new Map([["/a-b", "/a_b"]]) });
      expect(await exported(database)).toBe('{"id":1,"name":"a"}\n');
      await edit(database, ["b"]);
      const editsOf = async () => {
        await using store = await openedStore(database);
        await using sql = await store.openSql();
        return (await listEdits(store.contract, sql, {})).entries.length;
      };
      await migrated(database, dashed, "/a_b");
      expect([await exported(database), await editsOf()]).toEqual(["", 0]);
      await migrated(database, plain, "/a-b");
      expect([await exported(database), await editsOf()]).toEqual(["", 1]);
    });

    test.each<[what: string, wanted: ContractSource, reason: string]>([
      [
        "a shorter text",
        shelves({ name: { ...name, maxLength: 2 }, size, kind }),
        '1 ("name" must be a string of at most 2 characters',
      ],
      ["a required field", shelves(shelfFields, ["name", "kind"]), '1 ("kind" is required'],
      [
        "a narrower id",
        { text: original.text.replaceAll('"id":{"type":"integer"}', '"id":{"type":"integer","minimum":2}') },
        '1 ("id" must be ',
      ],
    ])("%s is taken over once everything stored fits", async (_, wanted, reason) => {
      const database = await newStore();
      const refused = await settled(migrated(database, wanted));
      expect(refused).toThrow(
        "the store has another contract, which it keeps: 1 of its shelves do not fit /shelves of this one: ",
      );
      expect(refused).toThrow(reason);
      expect(await settled(openedStore(database, undefined, wanted))).toThrow(reason);
      {
        await using store = await openedStore(database);
        expect(store.contract.source).toEqual(original);
      }
      await edit(database, undefined);
      expect(await migrated(database, wanted)).toHaveLength(1);
      await using store = await openedStore(database);
      expect(store.contract.source).toEqual(wanted);
    });

    test("a property whose name a stored member has that was not named is taken over without that member", async () => {
      const withOthers = (fields: Record<string, unknown>) => ({
        text: shelves(fields).text.replaceAll(
          '"type":"object"',
          '"type":"object","additionalProperties":{"type":"string"}',
        ),
      });
      const [before, wanted] = [withOthers({ name }), withOthers({ name, note: { type: "string" } })];
      const { database } = resources.use(await engine.createTestStore(before));
      {
        await using store = await openedStore(database, undefined, before);
        const all = ['{"id":1,"name":"a","note":"x","color":"red"}', '{"id":2,"name":"b","color":"note"}'];
        await store.create(
          toEntries(
            onlyCollection(store.contract),
            all.map((json) => parsed(store, json)),
          ),
        );
      }
      expect(await settled(migrated(database, wanted))).toThrow(
        '1 of its shelves do not fit /shelves of this one: 1 ("note" is one of its other members)',
      );
      await edit(database, ["a", '{"color":"red"}']);
      expect(await migrated(database, wanted)).toHaveLength(1);
      await edit(database, ["a", "y", '{"color":"red"}']);
      expect(await exported(database)).toBe(
        '{"id":1,"name":"a","note":"y","color":"red"}\n{"id":2,"name":"b","color":"note"}\n',
      );
    });

    test("the first ten that do not fit are named", async () => {
      const database = await newStore();
      {
        await using store = await openedStore(database);
        const all = Array.from({ length: 1_200 }, (_, id) => parsed(store, `{"id":${id + 2},"name":"long"}`));
        await store.create(toEntries(onlyCollection(store.contract), all));
      }
      const wanted = shelves({ name: { ...name, maxLength: 3 }, size, kind });
      const refused = await settled(migrated(database, wanted));
      expect(refused).toThrow("10 or more of its shelves do not fit /shelves");
      expect(refused).toThrow(", 11 (");
      expect(refused).not.toThrow(", 12 (");
      // The triggers that write down what is created meanwhile are gone.
      await using store = await openedStore(database, undefined, original);
      await using sql = await store.openSql();
      expect(await settled(sql.query("SELECT name FROM x_touched"))).toThrow("x_touched");
    });

    test("the message for a required field with a new name has both", async () => {
      const database = await newStore();
      const wanted = shelves({ title: name, size, kind }, ["title"]);
      expect(await settled(openedStore(database, undefined, wanted))).toThrow(
        'the contract no longer has "name" (values in 1 shelve), and adds "title"; run "plantstore migrate" with this --contract and --rename-fields OLD=NEW',
      );
      expect(await settled(migrated(database, wanted, "name"))).toThrow(
        'but is missing); "name" would be gone: say a new name with --rename-fields',
      );
    });

    test("a collection with resources is dropped only by its path, and its resources are gone", async () => {
      const database = await newStore();
      const racks = shelves({ name }, ["name"], "/racks");
      const [one, other] = [original, racks].map(({ text }) => JSON.parse(text));
      const get = {
        parameters: [{ name: "id", in: "path", required: true, schema: {} }],
        responses: { 200: { description: "ok" } },
      };
      const items = { "/shelves/{id}": { get }, "/racks/{id}": { get } };
      const both = { text: JSON.stringify({ ...one, paths: { ...one.paths, ...other.paths, ...items } }) };
      expect(await migrated(database, both)).toEqual([
        { isNew: false, added: ["/racks"], renamed: [], dropped: [] },
      ]);
      expect(await settled(migrated(database, racks))).toThrow(
        'the contract no longer has /shelves (1 shelve); run "plantstore migrate" with this --contract and --rename-fields',
      );
      expect(await migrated(database, racks, "/shelves")).toEqual([
        { isNew: false, added: [], renamed: [], dropped: ["/shelves (1 shelve)"] },
      ]);
      // Racks have no rows, so that they may go.
      expect(await migrated(database, original)).toEqual([
        { isNew: false, added: ["/shelves"], renamed: [], dropped: ["/racks (0 racks)"] },
      ]);
      expect(await exported(database)).toBe("");
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
      await using first = await openedStore(database, () => undefined);
      const shelf = (id: number) => parsed(first, `{"id":${id},"name":"s"}`);
      const creating = (async () => {
        for (let id = 100; id < 140; id++) {
          const create = () => first.create(toEntries(onlyCollection(first.contract), [shelf(id)]));
          // By the former contract nothing is written.
          if ((await create())[0] === "created") continue;
          await first.takeOverContract?.();
          expect(await create()).toEqual(["created"]);
        }
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
