// A WAL that another program cuts between the check before a commit and the commit.
// test/system/faults/overwritten.test.ts has servers whose files are overwritten at any time.

import { expect, test } from "bun:test";
import { closeSync, openSync, truncateSync } from "node:fs";
import { checkpoint } from "../../../../../src/core/store/sqlite/checkpoint.ts";
import { openDatabase } from "../../../../../src/core/store/sqlite/connection.ts";
import { Database } from "../../../../../src/core/store/sqlite/driver.ts";
import { OpenFiles } from "../../../../../src/core/store/sqlite/open-files.ts";
import { TemporaryFolder } from "../../../../support/server.ts";

test.each([
  ["to nothing", 0],
  ["after its first page", 32 + 24 + 4_096],
])("the hole before the frames of a commit is found: the WAL was cut %s", (_, bytes) => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  using database = openDatabase(path, "create");
  const descriptor = openSync(path, "r");
  const files = new OpenFiles(path, database, descriptor);
  const findFault = () => files.findFaultBeforeCommit(checkpoint(database, "NOOP").pages);
  const commit = () => database.run("INSERT INTO plants (id, name, created_at) VALUES (random(), 'x', 0)");
  for (let count = 0; count < 10; count++) {
    commit();
    expect(findFault()).toBeUndefined();
  }
  truncateSync(`${path}-wal`, bytes);
  commit();
  expect(findFault()).toContain("plants.db-wal was overwritten");
  files.close();
  closeSync(descriptor);
});

test("the length of the WAL is not known while another connection writes its index: no fault", () => {
  using folder = new TemporaryFolder();
  const path = folder.file("plants.db");
  using database = openDatabase(path, "create");
  database.run("INSERT INTO plants (id, name, created_at) VALUES (1, 'x', 0)");
  // SQLite gives the same length, -1, for a database without a WAL.
  using withoutWal = new Database(":memory:");
  expect(checkpoint(withoutWal, "NOOP").pages).toBe(-1);
  const descriptor = openSync(path, "r");
  const files = new OpenFiles(path, withoutWal, descriptor);
  expect(files.findFaultNow()).toBeUndefined();
  expect(files.findFaultBeforeCommit(-1)).toBeUndefined();
  files.close();
  closeSync(descriptor);
});
