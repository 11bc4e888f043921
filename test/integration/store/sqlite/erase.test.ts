// What a contract drops is gone from the files of a SQLite store, and creates go on meanwhile.

import { Database } from "bun:sqlite";
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

// The column of a large table stays, as creates would wait while all of its rows are written anew.
test.each([
  [1, "is gone"],
  [100_001, "is empty"],
])(
  "a deletion that was interrupted is continued by the next migration: the column of %d rows %s",
  async (rows, end) => {
    using folder = new TemporaryFolder();
    const path = folder.file("store.db");
    const database = `sqlite:${path}`;
    await (await openedStore(database, unexpected, shelves({ name })))[Symbol.asyncDispose]();
    using file = new Database(path);
    file.run(`INSERT INTO shelves (id, name, created_at)
              WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${rows}) SELECT i, 's', 0 FROM n`);
    file.run(`ALTER TABLE shelves ADD COLUMN x_dropped_0123456789abcdef TEXT DEFAULT '${secret}'`);
    file.run("CREATE TABLE x_dropped_fedcba9876543210 (id INTEGER PRIMARY KEY, name TEXT) STRICT");
    file.run(`INSERT INTO x_dropped_fedcba9876543210 VALUES (1, '${secret}')`);
    await using _ = await storeAt(database).open("create", unexpected, { compiler, dropFields: [] });
    const [[schema] = []] = file.query("SELECT group_concat(sql) FROM sqlite_schema").values();
    expect(schema).not.toContain("x_dropped_fedcba9876543210");
    if (end === "is gone") expect(schema).not.toContain("x_dropped");
    else expect(file.query("SELECT count(x_dropped_0123456789abcdef) FROM shelves").values()).toEqual([[0]]);
  },
);
