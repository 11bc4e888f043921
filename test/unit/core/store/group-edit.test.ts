// Changes that arrive while a transaction is under way share the next one.

import { expect, test } from "bun:test";
import { GroupEdit } from "../../../../src/core/store/group-edit.ts";
import type { EditOutcome, PlantEdit, RunPart } from "../../../../src/core/store/plant-edit.ts";
import { settled } from "../../../support/settled.ts";

const deletion = (id: bigint): PlantEdit => ({ id, expected: "any", replacement: undefined });
const runOf = (run: string): RunPart => ({ table: "plants", run, editor: "{}", first: 0 });

test("each edit of a group has its own run and outcome, and a failure ends one group", async () => {
  const groups: [readonly PlantEdit[], readonly RunPart[]][] = [];
  const ends = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const edits = new GroupEdit(
    {
      async edit(some, runs): Promise<EditOutcome[]> {
        const number = groups.push([some, runs as readonly RunPart[]]);
        await ends[number - 1]?.promise;
        if (number === 3) throw new Error("the disk is full");
        return some.map(({ id }) => (id === 2n ? "changed" : "done"));
      },
    },
    1_000,
  );
  const first = edits.edit("a", [deletion(1n)], runOf("one"));
  expect(groups).toHaveLength(1);
  const second = [
    edits.edit("a", [deletion(2n)], runOf("two")),
    edits.edit("a", [deletion(3n)], runOf("three")),
  ];
  ends[0]?.resolve();
  expect(await first).toEqual(["done"]);
  const third = Promise.withResolvers<EditOutcome[]>();
  queueMicrotask(() => edits.edit("b", [deletion(4n)], runOf("four")).then(third.resolve, third.reject));
  const failing = settled(third.promise);
  ends[1]?.resolve();
  expect(await Promise.all(second)).toEqual([["changed"], ["done"]]);
  expect(await failing).toThrow("the disk is full");
  expect(groups[1]).toEqual([
    [deletion(2n), deletion(3n)],
    [runOf("two"), runOf("three")],
  ]);
});
