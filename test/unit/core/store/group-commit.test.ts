// The group commit, on an engine whose commits the test ends.

import { describe, expect, test } from "bun:test";
import type { NewPlant } from "../../../../src/core/contract/plant.ts";
import {
  type CommitHook,
  type CreateOutcome,
  type FinishedBatch,
  GroupCommit,
  type GroupCommitLimits,
  type Schedule,
  scheduleWithSetImmediate,
} from "../../../../src/core/store/group-commit.ts";
import type { Outcome, StoreLanes } from "../../../../src/core/store/plant-store.ts";

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
  return new Promise((resolve, reject) => commit.create(newPlant, caller, { resolve, reject }));
}

/** An engine whose commits the test ends one by one. */
class ManualEngine {
  readonly batches: { ids: number[]; end: PromiseWithResolvers<Outcome[]> }[] = [];

  create(batch: readonly NewPlant[]): Promise<Outcome[]> {
    const end = Promise.withResolvers<Outcome[]>();
    this.batches.push({ ids: batch.map(({ id }) => Number(id)), end });
    return end.promise;
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
    now: () => ++time,
    afterBatch: ({ plants, ...rest }) => calls.push({ ids: plants.map(({ id }) => Number(id)), ...rest }),
  };
  const commit = new GroupCommit(engine, limits, immediately, hook);
  const creates = [1, 2, 3].map((id) =>
    create(commit, plant(id), anyCaller()).then(
      (outcome) => calls.push(outcome),
      (error) => calls.push(error.message),
    ),
  );
  await engine.endWith("created");
  engine.batches[1]?.end.reject(new Error("broken"));
  await Promise.all(creates);
  expect(calls).toEqual([
    { ids: [1], outcomes: ["created"], startedAt: 1, endedAt: 2, lane: undefined },
    "created",
    { ids: [2, 3], outcomes: undefined, startedAt: 3, endedAt: 4, lane: undefined },
    "broken",
    "broken",
  ]);
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

/** An engine with lanes: the plants with even and with odd ids, or others. */
class LanedEngine {
  readonly batches: { ids: number[]; lane: string | undefined; end: PromiseWithResolvers<Outcome[]> }[] = [];
  readonly down = new Map<string, string>();
  laneNames = ["even", "odd"];
  #onChange = (): void => undefined;
  readonly lanes: StoreLanes = {
    names: () => this.laneNames,
    laneOf: (id) => this.laneNames[Number(id) % this.laneNames.length] ?? "",
    downReason: (lane) => this.down.get(lane),
    subscribe: (onChange) => {
      this.#onChange = onChange;
    },
  };

  create(batch: readonly NewPlant[], _tokens?: readonly string[], lane?: string): Promise<Outcome[]> {
    const end = Promise.withResolvers<Outcome[]>();
    this.batches.push({ ids: batch.map(({ id }) => Number(id)), lane, end });
    return end.promise;
  }

  change(): void {
    this.#onChange();
  }

  /** Ends the last commit of a lane with success. */
  async end(lane: string): Promise<void> {
    const batch = this.batches.findLast((one) => one.lane === lane);
    batch?.end.resolve(batch.ids.map(() => "created"));
    await settled();
  }

  /** The ids of each batch that was started, by lane. */
  started(lane: string): number[][] {
    return this.batches.filter((batch) => batch.lane === lane).map(({ ids }) => ids);
  }
}

/** The number of plants in the queue of each lane. */
function lengths(commit: GroupCommit): Record<string, number> {
  return Object.fromEntries(commit.queueLengths.map(([lane, plants]) => [lane ?? "", plants]));
}

describe("lanes", () => {
  const lanedLimits = { ...limits, queuePlantsMax: 20, queueCodeUnitsMax: 1_000 };

  test("a batch has the plants of one lane, and each lane has its own batches in flight", async () => {
    const engine = new LanedEngine();
    const lanes: (string | undefined)[] = [];
    const hook = { now: () => 0, afterBatch: ({ lane }: FinishedBatch) => void lanes.push(lane) };
    const commit = new GroupCommit(engine, lanedLimits, immediately, hook);
    const created = [0, 1, 2, 3, 4].map((id) => create(commit, plant(id), anyCaller()));
    expect([engine.started("even"), engine.started("odd")]).toEqual([[[0]], [[1]]]);
    await engine.end("odd");
    await engine.end("odd");
    expect([engine.started("even"), engine.started("odd")]).toEqual([[[0]], [[1], [3]]]);
    await engine.end("even");
    await engine.end("even");
    expect(engine.started("even")).toEqual([[0], [2, 4]]);
    expect(await Promise.all(created)).toEqual(Array(5).fill("created"));
    expect(lanes).toEqual(["odd", "odd", "even", "even"]);
  });

  test("a lane that is stuck fills its half of the queue, and the other one goes on, for the same caller too", async () => {
    const engine = new LanedEngine();
    const commit = new GroupCommit(engine, lanedLimits, immediately);
    const stuck: Promise<CreateOutcome>[] = [];
    for (let id = 0; lengths(commit).even !== 8; id += 2) stuck.push(create(commit, plant(id, ""), "one"));
    // Seven eighths of the ten plants of the lane; the rest is left to another caller.
    expect(await create(commit, plant(100, ""), "one")).toBe("overloaded");
    void create(commit, plant(102, ""), "two");
    expect(commit.queueLength).toBe(9);
    expect(commit.isFullFor("one")).toBe(false);
    for (let id = 1; id < 200; id += 2) {
      const creating = create(commit, plant(id), "one");
      await engine.end("odd");
      expect(await creating).toBe("created");
    }
    expect(engine.started("even")).toEqual([[0]]);
    while (lengths(commit).even !== 0) await engine.end("even");
    await engine.end("even");
    expect(new Set(await Promise.all(stuck))).toEqual(new Set(["created"]));
  });

  test("a caller is refused before its body is read once every lane is full for it", () => {
    const engine = new LanedEngine();
    const commit = new GroupCommit(engine, lanedLimits, immediately);
    for (let id = 0; id < 18; id++) void create(commit, plant(id, ""), "one");
    expect(lengths(commit)).toEqual({ even: 8, odd: 8 });
    expect(commit.isFullFor("one")).toBe(true);
    expect(commit.isFullFor("two")).toBe(false);
  });

  test("code units are divided among the lanes as well", async () => {
    const engine = new LanedEngine();
    const commit = new GroupCommit(engine, lanedLimits, immediately);
    void create(commit, plant(0), "one");
    void create(commit, plant(2, "x".repeat(500)), anyCaller());
    expect(await create(commit, plant(4), anyCaller())).toBe("overloaded");
    void create(commit, plant(1), anyCaller());
    void create(commit, plant(3), anyCaller());
    expect(lengths(commit)).toEqual({ even: 1, odd: 1 });
  });

  test("a lane that is down refuses its plants at once, those in its queue too, and those in flight have the engine's outcome", async () => {
    const engine = new LanedEngine();
    const commit = new GroupCommit(engine, lanedLimits, immediately);
    const [inFlight, queued] = [0, 2].map((id) => create(commit, plant(id), anyCaller()));
    engine.down.set("even", "no response");
    engine.change();
    expect(await queued).toBe("unavailable");
    expect(await create(commit, plant(4), anyCaller())).toBe("unavailable");
    expect(commit.isFullFor("one")).toBe(false);
    const other = create(commit, plant(1), anyCaller());
    await engine.end("odd");
    expect(await other).toBe("created");

    engine.down.clear();
    engine.change();
    const later = create(commit, plant(6), anyCaller());
    await engine.end("even");
    expect(await inFlight).toBe("created");
    await engine.end("even");
    expect(await later).toBe("created");
    expect(engine.started("even")).toEqual([[0], [6]]);
  });

  test("all lanes are down: the store is unavailable, and not overloaded", async () => {
    const engine = new LanedEngine();
    const commit = new GroupCommit(engine, lanedLimits, immediately);
    for (const lane of engine.laneNames) engine.down.set(lane, "no response");
    engine.change();
    expect(commit.isFullFor("one")).toBe(false);
    expect(await create(commit, plant(0), "one")).toBe("unavailable");
  });

  test("lanes come and go: queued plants are committed in the lane that they were queued for", async () => {
    const engine = new LanedEngine();
    const commit = new GroupCommit(engine, lanedLimits, immediately);
    const before = [0, 2].map((id) => create(commit, plant(id), anyCaller()));
    engine.laneNames = ["one", "two", "three"];
    engine.change();
    const after = [0, 1, 2].map((id) => create(commit, plant(id), anyCaller()));
    expect(lengths(commit)).toEqual({ even: 1, one: 0, two: 0, three: 0 });
    await engine.end("even");
    await engine.end("even");
    for (const lane of engine.laneNames) await engine.end(lane);
    expect(await Promise.all([...before, ...after])).toEqual(Array(5).fill("created"));
    expect(engine.batches.map(({ lane, ids }) => [lane, ids])).toEqual([
      ["even", [0]],
      ["one", [0]],
      ["two", [1]],
      ["three", [2]],
      ["even", [2]],
    ]);
    engine.change();
    expect(Object.keys(lengths(commit))).toEqual(["one", "two", "three"]);
  });

  test("close waits for every lane, and for none that is down", async () => {
    const engine = new LanedEngine();
    const commit = new GroupCommit(engine, lanedLimits, immediately);
    const creates = [0, 1, 2].map((id) => create(commit, plant(id), anyCaller()));
    let isClosed = false;
    const closing = commit.close().then(() => {
      isClosed = true;
    });
    await engine.end("odd");
    expect(isClosed).toBe(false);
    engine.down.set("even", "no response");
    engine.change();
    expect(await creates[2]).toBe("unavailable");
    expect(isClosed).toBe(false);
    await engine.end("even");
    await closing;
    expect(await create(commit, plant(9), anyCaller())).toBe("closed");
  });
});
