// What is created or changed while a scan reads a store is read again before the contract is switched.

import { expect, test } from "bun:test";
import { compareContracts } from "../../../../src/store/migration/contract-change.ts";
import { newMigration } from "../../../../src/store/migration/migration.ts";
import { Scan } from "../../../../src/store/migration/scan.ts";
import { Database } from "../../../../src/store/sqlite/driver.ts";
import { migrate } from "../../../../src/store/sqlite/migrations.ts";
import { runWork } from "../../../../src/store/sqlite/sql-work.ts";
import { readSingle, shelves } from "../../../support/contracts.ts";
import { settled } from "../../../support/settled.ts";

const stored = await readSingle(shelves({ name: { type: "string" } }));
const wanted = await readSingle(shelves({ name: { type: "string", maxLength: 3 } }));

/** A scan of 200 shelves that has begun. */
function beginScan() {
  const database = new Database(":memory:", { strict: true, safeIntegers: true });
  migrate(database, "a store in memory", newMigration("sqlite", stored));
  database.run(
    `INSERT INTO shelves (id, name, created_at)
     WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200) SELECT i, 's', 0 FROM n`,
  );
  const scan = new Scan("sqlite", compareContracts(stored, wanted));
  runWork(database, scan.begin());
  const readAll = (onRead: () => void) => scan.readAll(async (work) => runWork(database, work()), onRead);
  const finish = () => runWork(database, scan.finish());
  return { database, readAll, finish };
}

test.each([
  ["created", "INSERT INTO shelves (id, name, created_at) VALUES (-1, 'long', 0)", "-1"],
  ["changed", "UPDATE shelves SET name = 'long' WHERE id = 1", "1"],
])("a resource that is %s behind the page that is read, or after the last one", async (_, change, id) => {
  for (const when of ["during", "after"]) {
    const { database, readAll, finish } = beginScan();
    using _ = database;
    let reads = 0;
    const reading = readAll(() => {
      if (++reads === 1 && when === "during") database.run(change);
    });
    if (when === "after") {
      await reading;
      database.run(change);
    }
    expect(await settled(when === "after" ? Promise.try(finish) : reading)).toThrow(
      `do not fit /shelves of this one: ${id} (`,
    );
    expect(reads).toBeGreaterThan(1);
  }
});

test("a scan that finds nothing leaves nothing behind", async () => {
  const { database, readAll, finish } = beginScan();
  using _ = database;
  await readAll(() => undefined);
  finish();
  expect(database.query("SELECT name FROM sqlite_schema WHERE name LIKE 'x_touched%'").all()).toEqual([]);
});
