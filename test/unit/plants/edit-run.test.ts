// Many edits of a command leave the lock of a SQLite file to servers in between.

import { expect, spyOn, test } from "bun:test";
import { EditRun, runIds } from "../../../src/plants/edit-run.ts";
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

test("runs of a process have names in order, which are not those of another process", () => {
  let now = Date.UTC(2026, 0, 1);
  const [next, other] = [runIds(() => now), runIds(() => now)];
  const names = Array.from({ length: 2_000 }, next);
  const others = Array.from({ length: 2_000 }, other);
  expect(new Set([...names, ...others]).size).toBe(4_000);
  // Their number may begin anew once.
  const descents = names.filter((name, index) => index > 0 && name < (names[index - 1] as string));
  expect(descents.length).toBeLessThanOrEqual(1);
  const start = (name: string) => name.slice(0, 4);
  expect(new Set([...names, ...others].map(start)).size).toBe(1);
  expect(names.every((name) => /^[2-9a-kmnp-z]{12}$/.test(name))).toBe(true);
  // 17.5 and 35 minutes later.
  const starts = [names[0] as string];
  for (let periods = 0; periods < 2; periods++) {
    now += 2 ** 20;
    starts.push(next());
  }
  expect(starts.toSorted()).toEqual(starts);
  expect(new Set(starts.map(start)).size).toBe(3);
});
