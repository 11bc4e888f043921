// The group commit, on an engine whose commits the test ends.

import { expect, test } from "bun:test";
import type { NewPlant } from "../../../../src/core/contract/plant.ts";
import {
  type CommitHook,
  type CreateOutcome,
  GroupCommit,
  type GroupCommitLimits,
  type Schedule,
  scheduleWithSetImmediate,
} from "../../../../src/core/store/group-commit.ts";
import type { NewEntry, Outcome } from "../../../../src/core/store/plant-store.ts";

const limits: GroupCommitLimits = {
  queuePlantsMax: 4,
  queueCodeUnitsMax: 100,
  batchPlantsMax: 3,
  batchesInFlightMax: 1,
};

const immediately: Schedule = (start) => start();

function plant(id: number, name = "Monstera"): NewPlant {
  return { id: BigInt(id), name };
}

let callers = 0;
/** A new caller each time, so that no share of the queue is exhausted. */
const anyCaller = () => `caller ${++callers}`;

/** The outcome of a create. */
function create(commit: GroupCommit, newPlant: NewPlant, caller: string): Promise<CreateOutcome> {
  return new Promise((settle, fail) =>
    commit.create({ plant: newPlant, creator: null, callerKey: caller, settle, fail }),
  );
}

/** An engine whose commits the test ends one by one. */
class ManualEngine {
  readonly batches: { ids: number[]; end: PromiseWithResolvers<Outcome[]> }[] = [];

  create(batch: readonly NewEntry[]): Promise<Outcome[]> {
    const end = Promise.withResolvers<Outcome[]>();
    this.batches.push({ ids: batch.map(({ plant }) => Number(plant.id)), end });
    return end.promise;
  }

  probes = 0;

  async assertWritable(): Promise<void> {
    this.probes++;
  }

  /** Ends the running commit with an outcome for each plant. */
  async endWith(...outcomes: Outcome[]): Promise<void> {
    this.batches.at(-1)?.end.resolve(outcomes);
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

test("plants created during a commit form the next batch, in their order, and each gets its own outcome", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, immediately);
  const answers = [1, 2, 3].map((id) => create(commit, plant(id), anyCaller()));
  expect(engine.batches.map(({ ids }) => ids)).toEqual([[1]]);
  await engine.endWith("created");
  expect(engine.batches.map(({ ids }) => ids)).toEqual([[1], [2, 3]]);
  await engine.endWith("unchanged", "conflict");
  expect(await Promise.all(answers)).toEqual(["created", "unchanged", "conflict"]);
});

test("a batch has at most batchPlantsMax plants; the next batch follows at once", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, immediately);
  const answers = [1, 2, 3, 4, 5].map((id) => create(commit, plant(id), anyCaller()));
  await engine.endWith("created");
  expect(engine.batches[1]?.ids).toEqual([2, 3, 4]);
  await engine.endWith("created", "created", "created");
  expect(engine.batches[2]?.ids).toEqual([5]);
  await engine.endWith("created");
  expect(await Promise.all(answers)).toEqual(Array(5).fill("created"));
});

test("batchesInFlightMax batches are committed concurrently", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, { ...limits, batchesInFlightMax: 2 }, immediately);
  for (const id of [1, 2, 3]) void create(commit, plant(id), anyCaller());
  expect(engine.batches.map(({ ids }) => ids)).toEqual([[1], [2]]);
});

test("a batch that fails with an exception rejects its own plants only, and is not retried", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, immediately);
  const [first, second] = [create(commit, plant(1), anyCaller()), create(commit, plant(2), anyCaller())];
  engine.batches[0]?.end.reject(new Error("broken"));
  expect(await first.catch((error) => error.message)).toBe("broken");
  await settled();
  expect(engine.batches.map(({ ids }) => ids)).toEqual([[1], [2]]);
  await engine.endWith("created");
  expect(await second).toBe("created");
});

test("a missing outcome rejects that plant, and no promise stays pending", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, immediately);
  const first = create(commit, plant(0), anyCaller());
  const answers = [1, 2].map((id) => create(commit, plant(id), anyCaller()));
  await engine.endWith("created");
  await engine.endWith("created");
  expect(await first).toBe("created");
  const [known, forgotten] = await Promise.allSettled(answers);
  expect(known).toEqual({ status: "fulfilled", value: "created" });
  expect(forgotten?.status).toBe("rejected");
});

test("the hook is called once after each batch, before any create of the batch resolves", async () => {
  const engine = new ManualEngine();
  const calls: unknown[] = [];
  let time = 0;
  const hook: CommitHook = {
    now: () => time,
    afterBatch: ({ entries, ...rest }) =>
      calls.push({ ids: entries.map(({ plant }) => Number(plant.id)), ...rest }),
  };
  const commit = new GroupCommit(engine, limits, immediately, hook);
  const creates = [1, 2, 3].map((id) =>
    create(commit, plant(id), anyCaller()).then(
      (outcome) => calls.push(outcome),
      (error) => calls.push(error.message),
    ),
  );
  time = 1;
  await engine.endWith("created");
  time = 3;
  engine.batches[1]?.end.reject(new Error("broken"));
  await Promise.all(creates);
  expect(calls).toEqual([
    { ids: [1], outcomes: ["created"], startedAt: 0, endedAt: 1 },
    "created",
    { ids: [2, 3], outcomes: undefined, startedAt: 1, endedAt: 3 },
    "broken",
    "broken",
  ]);
});

test("a batch that commits is evidence of readiness, and one that fails takes a probe", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, immediately);
  expect(await commit.assertReady()).toEqual([]);
  expect(engine.probes).toBe(1);
  for (const [outcome, probes] of [
    ["created", 1],
    ["unavailable", 2],
  ] as const) {
    const created = create(commit, plant(1), anyCaller());
    await engine.endWith(outcome);
    await created;
    await commit.assertReady();
    expect(engine.probes).toBe(probes);
  }
});

test("code units in the queue are limited as well, and are released when their batch starts", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, immediately);
  void create(commit, plant(1), anyCaller());
  void create(commit, plant(2, "x".repeat(100)), anyCaller());
  expect(await create(commit, plant(3), anyCaller())).toBe("overloaded");
  await engine.endWith("created");
  void create(commit, plant(4, "x".repeat(100)), anyCaller());
  expect(await create(commit, plant(5), anyCaller())).toBe("overloaded");
});

test("code units are released when a batch takes a part of the queue", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, immediately);
  void create(commit, plant(1), anyCaller());
  for (const id of [2, 3, 4]) void create(commit, plant(id, "x".repeat(30)), anyCaller());
  void create(commit, plant(5, "x".repeat(9)), anyCaller());
  await engine.endWith("created");
  expect(engine.batches.at(-1)?.ids).toEqual([2, 3, 4]);
  // 9 of 100 code units are in the queue.
  void create(commit, plant(6, "x".repeat(90)), anyCaller());
  expect(commit.isFullFor(anyCaller())).toBe(false);
  void create(commit, plant(7, "x"), anyCaller());
  expect(commit.isFullFor(anyCaller())).toBe(true);
});

test("a caller may fill seven eighths of the queue, and the rest is left to other callers", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, { ...limits, queuePlantsMax: 80 }, immediately);
  void create(commit, plant(0), "one");
  for (let id = 1; id <= 70; id++) {
    expect(commit.isFullFor("one")).toBe(false);
    void create(commit, plant(id, ""), "one");
  }
  expect(commit.isFullFor("one")).toBe(true);
  expect(await create(commit, plant(71, ""), "one")).toBe("overloaded");
  // Another caller gets seven eighths of the rest, so some is always free.
  for (let id = 100; !commit.isFullFor("two"); id++) void create(commit, plant(id, ""), "two");
  expect(commit.queueLength).toBe(78);
  expect(commit.isFullFor("three")).toBe(false);

  // Its plants leave in batches of three, and its share is released with them.
  await engine.endWith("created");
  expect(commit.isFullFor("one")).toBe(true);
  for (let batch = 0; batch < 10; batch++) await engine.endWith("created", "created", "created");
  expect(commit.isFullFor("one")).toBe(false);
});

test("a caller's code units may fill seven eighths of the queue, and are released", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(
    engine,
    { ...limits, queuePlantsMax: 1_000, queueCodeUnitsMax: 80 },
    immediately,
  );
  void create(commit, plant(0), "one");
  let sent = 0;
  while (!commit.isFullFor("one")) void create(commit, plant(++sent, "12345"), "one");
  expect(sent).toBe(15);
  expect(commit.isFullFor("two")).toBe(false);
  await engine.endWith("created");
  while (commit.queueLength > 0) await engine.endWith("created", "created", "created");
  expect(commit.isFullFor("one")).toBe(false);
});

test.each(Object.keys(limits))("the limit %s must be a positive integer", (name) => {
  for (const value of [0, -1, 1.5, Number.NaN]) {
    expect(() => new GroupCommit(new ManualEngine(), { ...limits, [name]: value }, immediately)).toThrow(
      name,
    );
  }
});

// The whole table of states and calls.
const states: Record<string, (engine: ManualEngine, commit: GroupCommit) => void | Promise<void>> = {
  open: () => undefined,
  committing: (_, commit) => void create(commit, plant(1), anyCaller()),
  full: (_, commit) => {
    for (const id of [1, 2, 3, 4, 5]) void create(commit, plant(id), anyCaller());
  },
  draining: (_, commit) => {
    for (const id of [1, 2]) void create(commit, plant(id), anyCaller());
    void commit.close();
  },
  closed: (_, commit) => commit.close(),
};

async function groupCommitIn(state: string): Promise<{ engine: ManualEngine; commit: GroupCommit }> {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, immediately);
  await states[state]?.(engine, commit);
  return { engine, commit };
}

const createIn: Record<string, string> = {
  open: "waits",
  committing: "waits",
  full: "overloaded",
  draining: "closed",
  closed: "closed",
};
test.each(Object.keys(states))("create in the state %s", async (state) => {
  const { commit } = await groupCommitIn(state);
  const outcome = await Promise.race([create(commit, plant(9), anyCaller()), settled().then(() => "waits")]);
  expect(outcome).toBe(createIn[state] ?? "");
});

const closeIn: Record<string, string> = {
  open: "closes",
  committing: "waits",
  full: "waits",
  draining: "waits",
  closed: "closes",
};
test.each(Object.keys(states))("close in the state %s", async (state) => {
  const { engine, commit } = await groupCommitIn(state);
  const closing = commit.close().then(() => "closes");
  expect(await Promise.race([closing, settled().then(() => "waits")])).toBe(closeIn[state] ?? "");
  // Every accepted plant is committed, and then the close resolves.
  while (engine.batches.at(-1)?.end !== undefined && closeIn[state] === "waits") {
    const before = engine.batches.length;
    await engine.endWith(...(engine.batches.at(-1)?.ids.map(() => "created" as const) ?? []));
    if (engine.batches.length === before) break;
  }
  expect(await closing).toBe("closes");
});

test("a plant that is alone, as the one before was, is committed at once, and those after it wait for the end of a tick", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, scheduleWithSetImmediate);
  const endOfTick = () => new Promise((resolve) => setImmediate(resolve));
  const ids = () => engine.batches.map((batch) => batch.ids);
  void create(commit, plant(1), anyCaller());
  expect(ids()).toEqual([]);
  await endOfTick();
  await engine.endWith("created");
  for (const id of [2, 3, 4]) void create(commit, plant(id), anyCaller());
  expect(ids()).toEqual([[1], [2]]);
  await engine.endWith("created");
  await endOfTick();
  expect(ids()).toEqual([[1], [2], [3, 4]]);
  await engine.endWith("created", "created");
  void create(commit, plant(5), anyCaller());
  expect(ids()).toHaveLength(3);
  await endOfTick();
  expect(ids()).toEqual([[1], [2], [3, 4], [5]]);
});

test("plants created in one tick of the event loop are one batch", async () => {
  const engine = new ManualEngine();
  const commit = new GroupCommit(engine, limits, scheduleWithSetImmediate);
  const answers = [1, 2, 3].map((id) => create(commit, plant(id), anyCaller()));
  expect(engine.batches).toEqual([]);
  const closing = commit.close();
  await new Promise((resolve) => setImmediate(resolve));
  expect(engine.batches.map(({ ids }) => ids)).toEqual([[1, 2, 3]]);
  await engine.endWith("created", "created", "created");
  expect(await Promise.all(answers)).toEqual(["created", "created", "created"]);
  await closing;
});
