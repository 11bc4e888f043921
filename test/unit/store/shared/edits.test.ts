// The SQL that changes plants on every engine: which plants are locked first, what a transaction
// compares, and how much of the history one statement erases.

import { expect, spyOn, test } from "bun:test";
import { type Contract, collectionOf } from "../../../../src/contract/contract.ts";
import type { PlantId } from "../../../../src/contract/plant-id.ts";
import { newMigration } from "../../../../src/store/migration/migration.ts";
import {
  countForgotten,
  type ForgottenEdits,
  forgetWork,
} from "../../../../src/store/shared/forgotten-edits.ts";
import { ContractChanged, editWork, type RecordedEdit } from "../../../../src/store/shared/plant-edit.ts";
import { nextVersion } from "../../../../src/store/shared/plant-rows.ts";
import {
  digestOf,
  isOfOneResource,
  type RecordedRead,
  TransactionConflict,
  wholeTransaction,
} from "../../../../src/store/shared/transaction.ts";
import { type SqlStatement, SqlTimeout } from "../../../../src/store/sql-connection.ts";
import { Database } from "../../../../src/store/sqlite/driver.ts";
import { migrate } from "../../../../src/store/sqlite/migrations.ts";
import { runStatement, runWork } from "../../../../src/store/sqlite/sql-work.ts";
import { plantStore } from "../../../support/contracts.ts";

/** The Plant Store's, with a second collection like the first one. */
const contract: Contract = {
  ...plantStore,
  number: 1,
  collections: [
    plantStore,
    { ...plantStore.collections[0], ...plantStore, table: "others", path: "/others" },
  ],
};

function openStore(): Database {
  const database = new Database(":memory:", { strict: true, safeIntegers: true });
  migrate(database, "a store in memory", newMigration("sqlite", contract));
  return database;
}

let seq = 0;

/** The creation of a plant, or its deletion. */
function edit(table: string, id: PlantId, name?: string): RecordedEdit {
  const version = nextVersion(undefined);
  const made = {
    id,
    expected: undefined,
    replacement: [name ?? ""],
    creation: { createdAt: 1, creator: null },
  };
  return {
    table,
    contractNumber: 1,
    edit: name === undefined ? { id, expected: "any", replacement: undefined } : { ...made, version },
    run: "run",
    seq: ++seq,
    editor: "{}",
    editedAt: seq,
  };
}

function namesIn(database: Database, table = "plants"): unknown[] {
  return database
    .query<{ name: string }, []>(`SELECT name FROM ${table} ORDER BY id`)
    .all()
    .map(({ name }) => name);
}

test("transactions lock the same plants in the same order, by table and id, and outcomes are in that of the edits", () => {
  const edits = [
    edit("plants", 10n),
    edit("others", 30n, "new"),
    edit("plants", 9n, "new"),
    edit("others", -2n),
  ];
  const work = editWork(contract, edits);
  const written = work.next().value as readonly SqlStatement[];
  expect(
    written.map(({ sql, parameters = [] }) => [
      /"(\w+)"/.exec(sql)?.[1],
      parameters.findLast((each) => typeof each === "bigint"),
    ]),
  ).toEqual([
    ["others", -2n],
    ["others", 30n],
    ["plants", 9n],
    ["plants", 10n],
  ]);
  work.next([[], [{ id: 30n }], [{ id: 9n }], []]);
  expect(work.next([]).value).toEqual(["changed", "done", "done", "changed"]);
});

test("an edit that was checked by another contract is not made", () => {
  using database = openStore();
  const stale = { ...edit("plants", 1n, "stale"), contractNumber: 2 };
  expect(() => runWork(database, editWork(contract, [edit("plants", 2n, "new"), stale]))).toThrow(
    ContractChanged,
  );
  expect(namesIn(database)).toEqual([]);
});

test("a transaction is made if all that it has read is as it was found, in whatever order, and else nothing of it", () => {
  using database = openStore();
  runWork(
    database,
    editWork(
      contract,
      [1n, 2n].map((id) => edit("plants", id, `plant ${id}`)),
    ),
  );
  const sql = "SELECT * FROM plants";
  const found = runStatement(database, { sql });
  const read: RecordedRead = { sql, found: digestOf(found.toReversed()), resource: undefined };
  const stale = { ...read, found: digestOf(found.slice(1)) };
  const commit = (reads: readonly RecordedRead[], edits: readonly RecordedEdit[]) =>
    runWork(database, wholeTransaction(contract, { reads, edits }));
  expect(() => commit([read, stale], [edit("plants", 3n, "new")])).toThrow(TransactionConflict);
  // Plant 1 is there already.
  expect(() => commit([read], [edit("plants", 1n, "other")])).toThrow(TransactionConflict);
  commit([read], [edit("plants", 3n, "new")]);
  expect(namesIn(database)).toEqual(["plant 1", "plant 2", "new"]);

  let now = 0;
  using _ = spyOn(performance, "now").mockImplementation(() => (now += 300));
  const again = { ...read, found: digestOf(runStatement(database, { sql })) };
  expect(() => commit([again, again], [])).toThrow(SqlTimeout);
});

test("a transaction is one of a single resource if all that it reads and changes is that one", () => {
  const read = (table: string, id: PlantId) => ({ sql: "", found: "", resource: { table, id } });
  const edits = [edit("plants", 1n)];
  expect(isOfOneResource({ reads: [read("plants", 1n)], edits })).toBe(true);
  for (const other of [
    read("others", 1n),
    read("plants", 2n),
    { ...read("plants", 1n), resource: undefined },
  ])
    expect(isOfOneResource({ reads: [read("plants", 1n), other], edits })).toBe(false);
  expect(isOfOneResource({ reads: [], edits: [] })).toBe(false);
});

test("edits are erased by their plants or their time, 500 in a statement, and large ones by few", () => {
  using database = openStore();
  const large = "x".repeat(3 * 2 ** 20);
  const all = [edit("plants", 1n, large), edit("plants", 2n, large), edit("others", 1n, "small")];
  runWork(database, editWork(contract, all));
  const [, second] = all as [RecordedEdit, RecordedEdit];
  const erased = (forgotten: ForgottenEdits) => runWork(database, forgetWork(forgotten));
  const before = { plants: undefined, before: second.editedAt };
  expect(runStatement(database, countForgotten(before))).toEqual([{ edits: 1n, runs: 1n }]);
  const first = { plants: { table: "plants", ids: ["1"] }, before: undefined };
  expect([erased(first), erased(first)]).toEqual([1, 0]);
  runWork(database, editWork(contract, [edit("plants", 3n, large)]));
  const everything = { plants: undefined, before: undefined };
  expect([before, everything, everything, everything].map(erased)).toEqual([0, 2, 1, 0]);
  const many = Array.from({ length: 501 }, (_, id) => edit("plants", BigInt(id + 10), "small"));
  runWork(database, editWork(contract, many));
  expect([everything, everything].map(erased)).toEqual([500, 1]);
  expect(namesIn(database, collectionOf(contract, "others").table)).toEqual(["small"]);
});
