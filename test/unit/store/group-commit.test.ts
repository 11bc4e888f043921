// The group commit, on an engine whose commits the test ends.

import { expect, test } from "bun:test";
import type { Plant } from "../../../src/contract/contract.ts";
import { GroupCommit, type GroupCommitLimits, type QueueContext } from "../../../src/store/group-commit.ts";
import { VirtualTime } from "../../support/virtual-time.ts";
import { create, ManualEngine, settled } from "./manual-engine.ts";

const limits: GroupCommitLimits = {
  queuePlantsMax: 4,
  batchPlantsMax: 3,
  batchesInFlightMax: 1,
};

function plant(id: number, name = "Monstera"): Plant {
  return { id: BigInt(id), values: [name, undefined] };
}

/** A group commit on an engine of its own, with batches that start at once by default. */
function start(
  changes: Partial<GroupCommitLimits> = {},
  context: Partial<QueueContext> = {},
): { engine: ManualEngine; commit: GroupCommit } {
  const engine = new ManualEngine();
  const surroundings = { now: () => 0, emit: () => undefined, schedule: (begin: () => void) => begin() };
  const commit = new GroupCommit(engine, { ...limits, ...changes }, { ...surroundings, ...context });
  return { engine, commit };
}

test("plants created during a commit form the next batch, in their order, and each gets its own outcome", async () => {
  const { engine, commit } = start();
  const answers = [1, 2, 3].map((id) => create(commit, plant(id)));
  expect(engine.batches).toEqual([[1]]);
  await engine.end();
  expect(engine.batches).toEqual([[1], [2, 3]]);
  await engine.end("unchanged", "conflict");
  expect(await Promise.all(answers)).toEqual(["created", "unchanged", "conflict"]);
});

test("a batch has at most batchPlantsMax plants; the next batch follows at once", async () => {
  const { engine, commit } = start();
  const answers = [1, 2, 3, 4, 5].map((id) => create(commit, plant(id)));
  await engine.end();
  expect(engine.batches[1]).toEqual([2, 3, 4]);
  await engine.end();
  expect(engine.batches[2]).toEqual([5]);
  await engine.end();
  expect(await Promise.all(answers)).toEqual(Array(5).fill("created"));
});

test("batchesInFlightMax batches are committed concurrently", async () => {
  const { engine, commit } = start({ batchesInFlightMax: 2 });
  for (const id of [1, 2, 3]) void create(commit, plant(id));
  expect(engine.batches).toEqual([[1], [2]]);
});

test("a batch beside another is at least as large as the last one, or 20 ms late if no other create comes", async () => {
  using time = new VirtualTime();
  const { engine, commit } = start({ queuePlantsMax: 9, batchesInFlightMax: 2 });
  for (let id = 1; id <= 4; id++) void create(commit, plant(id));
  await engine.end();
  expect(engine.batches).toEqual([[1], [2], [3, 4]]);
  await engine.end();
  void create(commit, plant(5));
  expect(engine.batches).toHaveLength(3);
  void create(commit, plant(6));
  expect(engine.batches[3]).toEqual([5, 6]);
  // The next wait has all of its time.
  await time.until(time.sleep(10), 1_000);
  await engine.end();
  void create(commit, plant(7));
  await time.until(time.sleep(19), 1_000);
  expect(engine.batches).toHaveLength(4);
  await time.until(time.sleep(1), 1_000);
  expect(engine.batches[4]).toEqual([7]);
});

test("a batch that fails with an exception rejects its own plants only, and is not retried", async () => {
  const { engine, commit } = start();
  const [first, second] = [create(commit, plant(1)), create(commit, plant(2))];
  engine.fail("broken");
  expect(await first.catch((error) => error.message)).toBe("broken");
  await settled();
  expect(engine.batches).toEqual([[1], [2]]);
  await engine.end();
  expect(await second).toBe("created");
});

test("a missing outcome rejects its batch, and no promise stays pending", async () => {
  const { engine, commit } = start();
  const first = create(commit, plant(0));
  const answers = [1, 2].map((id) => create(commit, plant(id)));
  await engine.end();
  await engine.end("created");
  expect(await first).toBe("created");
  const ends = await Promise.allSettled(answers);
  expect(ends.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
});

test("each batch that is committed is emitted once, before any create of it resolves", async () => {
  const calls: unknown[] = [];
  let time = 0;
  const { engine, commit } = start({}, { now: () => time, emit: (event) => calls.push(event) });
  const creates = [1, 2, 3].map((id) =>
    create(commit, plant(id)).then(
      (outcome) => calls.push(outcome),
      (error) => calls.push(error.message),
    ),
  );
  time = 1;
  await engine.end();
  time = 3;
  engine.fail("broken");
  await Promise.all(creates);
  expect(calls).toEqual([
    { kind: "batchCommitted", plants: 1, startedAt: 0, endedAt: 1 },
    "created",
    "broken",
    "broken",
  ]);
});

test("a batch of which nothing could be committed is not emitted, and one of which some could is", async () => {
  const emitted: unknown[] = [];
  const { engine, commit } = start({}, { emit: (event) => emitted.push(event) });
  const creates = [1, 2, 3].map((id) => create(commit, plant(id)));
  await engine.end("unavailable");
  expect(await creates[0]).toBe("unavailable");
  await engine.end("unavailable", "created");
  expect(await Promise.all(creates.slice(1))).toEqual(["unavailable", "created"]);
  expect(emitted).toEqual([{ kind: "batchCommitted", plants: 2, startedAt: 0, endedAt: 0 }]);
});

test("a long plant counts as several, for the queue and for its caller, until its batch starts", async () => {
  const { engine, commit } = start({ queuePlantsMax: 80 });
  void create(commit, plant(0), "one");
  // Counts as 10 plants: seven leave a caller no more than seven times what is free.
  const long = "x".repeat(9 * 4_096);
  for (let id = 1; id <= 7; id++) void create(commit, plant(id, long), "one");
  expect(await create(commit, plant(8), "one")).toBe("overloaded");
  for (let id = 9; id <= 13; id++) void create(commit, plant(id), "two");
  expect(commit.isFullFor("three")).toBe(false);
  expect(await create(commit, plant(14, long), "three")).toBe("overloaded");
  for (let id = 15; id <= 19; id++) void create(commit, plant(id), String(id));
  expect(commit.isFullFor("four")).toBe(true);

  await engine.end();
  expect(engine.batches.at(-1)).toEqual([1, 2, 3]);
  expect([commit.isFullFor("four"), commit.isFullFor("one")]).toEqual([false, false]);
  while (commit.queuedPlants > 0) await engine.end();
  void create(commit, plant(20), "one");
  expect(commit.isFullFor("one")).toBe(false);
});

test("a caller may fill seven eighths of the queue, and the rest is left to other callers", async () => {
  const { engine, commit } = start({ queuePlantsMax: 80 });
  void create(commit, plant(0), "one");
  for (let id = 1; id <= 70; id++) {
    expect(commit.isFullFor("one")).toBe(false);
    void create(commit, plant(id, ""), "one");
  }
  expect(commit.isFullFor("one")).toBe(true);
  expect(await create(commit, plant(71, ""), "one")).toBe("overloaded");
  // Another caller gets seven eighths of the rest, so some is always free.
  for (let id = 100; !commit.isFullFor("two"); id++) void create(commit, plant(id, ""), "two");
  expect(commit.queuedPlants).toBe(78);
  expect(commit.isFullFor("three")).toBe(false);

  // Its plants leave in batches of three, and its share is released with them.
  await engine.end();
  expect(commit.isFullFor("one")).toBe(true);
  for (let batch = 0; batch < 10; batch++) await engine.end();
  expect(commit.isFullFor("one")).toBe(false);
});

/** The whole table of states and calls: how each is entered, and what a create and a close do. */
const states: readonly (readonly [string, (commit: GroupCommit) => unknown, string, string])[] = [
  ["open", () => undefined, "waits", "closes"],
  ["committing", (commit) => void create(commit, plant(1)), "waits", "waits"],
  ["full", (commit) => void [1, 2, 3, 4, 5].map((id) => create(commit, plant(id))), "overloaded", "waits"],
  [
    "draining",
    (commit) => {
      for (const id of [1, 2]) void create(commit, plant(id));
      void commit.close();
    },
    "closed",
    "waits",
  ],
  ["closed", (commit) => commit.close(), "closed", "closes"],
];

test.each(states)("in the state %s: a create, and close()", async (_, enter, created, closed) => {
  const creating = start();
  await enter(creating.commit);
  const outcome = create(creating.commit, plant(9));
  expect(await Promise.race([outcome, settled().then(() => "waits")])).toBe(created);

  const { engine, commit } = start();
  await enter(commit);
  const closing = commit.close().then(() => "closes");
  expect(await Promise.race([closing, settled().then(() => "waits")])).toBe(closed);
  // Every accepted plant is committed, and then the close resolves.
  for (let ended = 0; ended < engine.batches.length; ended++) await engine.end();
  expect(await closing).toBe("closes");
});

test("a plant that is alone, as the one before was, is committed at once, and those after it wait for the end of a tick", async () => {
  const { engine, commit } = start({}, { schedule: setImmediate });
  const endOfTick = () => new Promise((resolve) => setImmediate(resolve));
  void create(commit, plant(1));
  expect(engine.batches).toEqual([]);
  await endOfTick();
  await engine.end();
  for (const id of [2, 3, 4]) void create(commit, plant(id));
  expect(engine.batches).toEqual([[1], [2]]);
  await engine.end();
  await endOfTick();
  expect(engine.batches).toEqual([[1], [2], [3, 4]]);
  await engine.end();
  void create(commit, plant(5));
  expect(engine.batches).toHaveLength(3);
  await endOfTick();
  expect(engine.batches).toEqual([[1], [2], [3, 4], [5]]);
});

test("plants created in one tick of the event loop are one batch", async () => {
  const { engine, commit } = start({}, { schedule: setImmediate });
  const answers = [1, 2, 3].map((id) => create(commit, plant(id)));
  expect(engine.batches).toEqual([]);
  const closing = commit.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(engine.batches).toEqual([[1, 2, 3]]);
  await engine.end();
  expect(await Promise.all(answers)).toEqual(["created", "created", "created"]);
  await closing;
});
