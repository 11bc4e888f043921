// What a contract drops is gone from the files of a SQLite store, and creates go on meanwhile.

import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import type { Plant } from "../../../../src/contract/contract.ts";
import { parsePlantJson } from "../../../../src/contract/plant.ts";
import { compiler } from "../../../../src/openapi/compiler.ts";
import { storeAt } from "../../../../src/store/open-store.ts";
import { toEntries } from "../../../../src/store/plant-store.ts";
import { onlyCollection, shelves } from "../../../support/contracts.ts";
import { TemporaryFolder } from "../../../support/server.ts";
import { exported, openedStore, unexpected } from "../../../support/stored-plants.ts";

const name = { type: "string" };
const secret = "a-phone-number-to-forget";

test("dropped values are in no file of a store that a server has open, and it creates all the while", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("store.db");
  const database = `sqlite:${path}`;
  const both = shelves({ name, phone: name });
  await using store = await openedStore(database, () => undefined, both);
  const collection = onlyCollection(store.contract);
  const shelf = (id: number, others = "") =>
    parsePlantJson(collection, `{"id":${id},"name":"s"${others}}`) as Plant;
  const all = Array.from({ length: 30_000 }, (_, id) => shelf(id, `,"phone":"${secret}-${id}"`));
  for (let start = 0; start < all.length; start += 1_000)
    await store.create(toEntries(collection, all.slice(start, start + 1_000)));
  const holders = () =>
    readdirSync(dirname(path)).filter((file) => readFileSync(folder.file(file)).includes(secret));
  expect(holders()).not.toEqual([]);

  const wanted = shelves({ name });
  const migrating = storeAt(database).open("create", unexpected, {
    compiler,
    contract: wanted,
    dropFields: ["phone"],
  });
  await (await migrating)[Symbol.asyncDispose]();
  expect(holders()).toEqual([]);
  expect((await exported(database)).split("\n").length - 1).toBe(30_000);
});

test("a deletion that was interrupted is continued by the next migration", async () => {
  using folder = new TemporaryFolder();
  const path = folder.file("store.db");
  const database = `sqlite:${path}`;
  const source = shelves({ name });
  {
    await using store = await openedStore(database, unexpected, source);
    const collection = onlyCollection(store.contract);
    await store.create(toEntries(collection, [parsePlantJson(collection, '{"id":1,"name":"s"}') as Plant]));
  }
  const { Database } = await import("bun:sqlite");
  {
    using file = new Database(path);
    file.run(`ALTER TABLE shelves ADD COLUMN x_dropped_0123456789abcdef TEXT DEFAULT '${secret}'`);
    file.run("CREATE TABLE x_dropped_fedcba9876543210 (id INTEGER PRIMARY KEY, name TEXT) STRICT");
    file.run(`INSERT INTO x_dropped_fedcba9876543210 VALUES (1, '${secret}')`);
  }
  await using _ = await storeAt(database).open("create", unexpected, { compiler, dropFields: [] });
  using file = new Database(path);
  const [schema] = file.query("SELECT group_concat(sql) FROM sqlite_schema").values();
  expect(String(schema)).not.toContain("x_dropped");
});
