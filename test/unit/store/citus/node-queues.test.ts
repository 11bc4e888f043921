// The queues of the nodes of a cluster, on nodes whose commits the test ends.

import { expect, test } from "bun:test";
import type { PlantId } from "../../../../src/contract/plant-id.ts";
import { NodeQueues, type NodeStore } from "../../../../src/store/citus/node-queues.ts";
import type { CreateOutcome, GroupCommitLimits } from "../../../../src/store/group-commit.ts";
import { create as createPlant, ManualEngine } from "../manual-engine.ts";

const limits: GroupCommitLimits = {
  queuePlantsMax: 20,
  batchPlantsMax: 3,
  batchesInFlightMax: 1,
};

class ManualNode extends ManualEngine implements NodeStore {
  readonly name = "node";
  isUp = true;
  readonly calls: string[] = [];

  async close(): Promise<void> {
    this.calls.push("closed");
  }
}

function update(
  queues: NodeQueues,
  nodes: Readonly<Record<string, ManualNode>>,
  nodeOf: (id: PlantId) => string,
): void {
  const openers = Object.entries(nodes).map(([name, node]) => [name, () => node] as const);
  queues.update(new Map(openers), (_, id) => nodeOf(id));
}

/** Queues of two nodes: that of even ids, and that of odd ones. */
function start() {
  const queues = new NodeQueues(limits, {
    now: () => 0,
    emit: () => undefined,
    schedule: (begin) => begin(),
  });
  const [even, odd] = [new ManualNode(), new ManualNode()];
  update(queues, { even, odd }, (id) => (BigInt(id) % 2n === 0n ? "even" : "odd"));
  return { queues, even, odd };
}

function create(queues: NodeQueues, id: number, callerKey?: string, name = ""): Promise<CreateOutcome> {
  return createPlant(queues, { id: BigInt(id), values: [name, undefined] }, callerKey);
}

function queued({ queuedPlants }: NodeQueues): number {
  return queuedPlants;
}

test("a batch has the plants of one node, and each node has its own batches in flight", async () => {
  const { queues, even, odd } = start();
  const created = [0, 1, 2, 3, 4].map((id) => create(queues, id));
  expect([even.batches, odd.batches]).toEqual([[[0]], [[1]]]);
  await odd.end();
  await odd.end();
  expect([even.batches, odd.batches]).toEqual([[[0]], [[1], [3]]]);
  await even.end();
  await even.end();
  expect(even.batches).toEqual([[0], [2, 4]]);
  expect(await Promise.all(created)).toEqual(Array(5).fill("created"));
});

test("a node that is stuck fills its half of the queue, and the other one goes on, for the same caller too", async () => {
  const { queues, even, odd } = start();
  const stuck: Promise<CreateOutcome>[] = [];
  for (let id = 0; queued(queues) !== 8; id += 2) stuck.push(create(queues, id, "one"));
  // Seven eighths of the ten plants of the node; the rest is left to another caller.
  expect(await create(queues, 100, "one")).toBe("overloaded");
  void create(queues, 102, "two");
  expect(queued(queues)).toBe(9);
  expect(queues.isFullFor("one")).toBe(false);
  for (let id = 1; id < 200; id += 2) {
    const creating = create(queues, id, "one");
    await odd.end();
    expect(await creating).toBe("created");
  }
  expect(even.batches).toEqual([[0]]);
  while (queued(queues) !== 0) await even.end();
  await even.end();
  expect(new Set(await Promise.all(stuck))).toEqual(new Set(["created"]));
});

test("a caller is refused before its body is read once every queue is full for it", () => {
  const { queues } = start();
  for (let id = 0; id < 18; id++) void create(queues, id, "one");
  expect(queued(queues)).toBe(16);
  expect(queues.isFullFor("one")).toBe(true);
  expect(queues.isFullFor("two")).toBe(false);
});

test("nodes come and go: queued plants are committed by the node that they were queued for, which is then closed", async () => {
  const { queues, even, odd } = start();
  const before = [0, 2].map((id) => create(queues, id));
  const names = ["one", "two", "odd"];
  const [one, two] = [new ManualNode(), new ManualNode()];
  update(queues, { one, two, odd }, (id) => names[Number(id) % 3] ?? "");
  const after = [0, 1, 2].map((id) => create(queues, id));
  expect(queued(queues)).toBe(1);
  const closing = queues.close().then(() => even.calls.push("all closed"));
  for (const node of [one, two, odd]) await node.end();
  await even.end();
  expect(even.calls).toEqual([]);
  await even.end();
  await closing;
  expect(even.calls).toEqual(["closed", "all closed"]);
  expect(await Promise.all([...before, ...after])).toEqual(Array(5).fill("created"));
  expect([even, one, two, odd].map(({ batches }) => batches)).toEqual([[[0], [2]], [[0]], [[1]], [[2]]]);
});

test("the store is ready while one node can commit, and names the others", async () => {
  const { queues, even, odd } = start();
  expect(await queues.assertReady()).toEqual([]);
  even.failure = "no response";
  const refused = create(queues, 0);
  await even.end("unavailable");
  expect(await refused).toBe("unavailable");
  expect(await queues.assertReady()).toEqual(["even cannot commit: no response"]);
  odd.failure = "a full disk";
  const alsoRefused = create(queues, 1);
  await odd.end("unavailable");
  await alsoRefused;
  expect(await queues.assertReady().catch((error) => error.message)).toBe(
    "even cannot commit: no response; odd cannot commit: a full disk",
  );
  even.failure = undefined;
  expect(await queues.assertReady()).toEqual(["odd cannot commit: a full disk"]);
});

test("nodesUp says which nodes commit", () => {
  const { queues, odd } = start();
  odd.isUp = false;
  expect(Object.fromEntries(queues.nodesUp)).toEqual({ even: true, odd: false });
});

test("close waits for every node, and closes each when its queue is empty", async () => {
  const { queues, even, odd } = start();
  const creates = [0, 1, 2].map((id) => create(queues, id));
  const closing = queues.close();
  expect(await create(queues, 9)).toBe("closed");
  await odd.end();
  expect([even.calls, odd.calls]).toEqual([[], ["closed"]]);
  await even.end();
  await even.end();
  await closing;
  expect(even.calls).toEqual(["closed"]);
  expect(await Promise.all(creates)).toEqual(Array(3).fill("created"));
});
