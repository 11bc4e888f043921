// Many edits of a command leave the lock of a SQLite file to servers in between.

import { expect, spyOn, test } from "bun:test";
import { EditRun } from "../../../src/plants/edit-run.ts";
import { editsMax } from "../../../src/store/shared/plant-edit.ts";
import { plantStore } from "../../support/contracts.ts";

test("between two transactions, and not before the first, an edit run pauses for as long as one took", async () => {
  const calls: (string | number)[] = [];
  let now = 0;
  using _ = spyOn(performance, "now").mockImplementation(() => now);
  const store = {
    edit: async (edits: readonly unknown[]) => {
      calls.push(`edit ${edits.length}`);
      now += 1_000 / edits.length;
      return edits.map(() => "done" as const);
    },
  };
  const run = new EditRun(store, { by: "command" }, async (ms) => void calls.push(ms));
  const edits = Array.from({ length: editsMax + 10 }, (_, id) => ({
    id: BigInt(id),
    expected: "any" as const,
    replacement: undefined,
  }));
  await run.edit(plantStore, edits);
  await run.edit(plantStore, edits.slice(0, 1));
  expect(calls).toEqual([`edit ${editsMax}`, 1_000 / editsMax, "edit 10", 50, "edit 1"]);
});
