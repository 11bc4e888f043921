// Calls that arrive while a group is under way form the next one, and callers take turns.

import { expect, spyOn, test } from "bun:test";
import type { PlantId } from "../../../src/contract/plant-id.ts";
import { CallerGone, Groups, Turns, TurnTimeout } from "../../../src/store/groups.ts";
import { findPlants } from "../../../src/store/shared/plant-rows.ts";
import type { SqlValue } from "../../../src/store/sql-connection.ts";
import { plantStore } from "../../support/contracts.ts";
import { settled } from "../../support/settled.ts";

/** Runs groups until the test ends them; the result of a call is its double. */
class HeldGroups {
  readonly started: { readonly calls: readonly number[]; readonly end: (error?: Error) => void }[] = [];

  readonly run = async (calls: readonly number[]): Promise<number[]> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const end = (error?: Error) => (error === undefined ? resolve() : reject(error));
    this.started.push({ calls, end });
    await promise;
    return calls.map((call) => 2 * call);
  };

  get calls(): (readonly number[])[] {
    return this.started.map(({ calls }) => calls);
  }

  /** Waits for a group. */
  async nth(index: number) {
    for (;;) {
      const group = this.started[index];
      if (group !== undefined) return group;
      await new Promise(setImmediate);
    }
  }
}

const waitMsMax = 60_000;

test("a call runs at the end of the tick, and those that arrive meanwhile are the next group", async () => {
  const held = new HeldGroups();
  const groups = new Groups({ callsMax: 64, waitMsMax }, held.run);
  const first = groups.add("caller", 1);
  await new Promise(setImmediate);
  expect(held.calls).toEqual([[1]]);
  const others = [2, 3, 2].map((call) => groups.add("caller", call));
  held.started[0]?.end();
  expect(await first).toBe(2);
  const second = await held.nth(1);
  expect(second.calls).toEqual([2, 3, 2]);
  second.end();
  expect(await Promise.all(others)).toEqual([4, 6, 4]);
});

test("calls that arrive together are one group, and 32 do not wait for the others", async () => {
  const held = new HeldGroups();
  const groups = new Groups({ callsMax: 64, waitMsMax }, held.run);
  const addAll = (calls: readonly number[]) => calls.map((call) => groups.add("caller", call));
  const endOf = async (index: number) => (await held.nth(index)).end();
  const together = addAll([4, 5]);
  expect(held.calls).toEqual([]);
  await endOf(0);
  await Promise.all(together);
  expect(held.calls).toEqual([[4, 5]]);
  const many = addAll(Array.from({ length: 40 }, (_, call) => call));
  expect(held.calls[1]).toHaveLength(32);
  await endOf(1);
  await endOf(2);
  await Promise.all(many);
  expect(held.calls[2]).toHaveLength(8);
});

test("a caller with many calls leaves each group room for others, and a failure ends one group", async () => {
  const held = new HeldGroups();
  const groups = new Groups({ callsMax: 64, waitMsMax }, held.run);
  const many = Array.from({ length: 201 }, (_, call) => groups.add("many", call));
  const results = Promise.allSettled([groups.add("other", 1_000), ...many]);
  held.started[0]?.end();
  const second = await held.nth(1);
  expect(second.calls).toContain(1_000);
  second.end(new Error("gone"));
  for (const group of [2, 3]) (await held.nth(group)).end();
  const statuses = (await results).map(({ status }) => status);
  expect(statuses[0]).toBe("rejected");
  expect(statuses.filter((status) => status === "rejected")).toHaveLength(64);
});

test("as many groups are under way as may be", async () => {
  const held = new HeldGroups();
  const groups = new Groups({ callsMax: 2, groupsMax: 2, waitMsMax }, held.run);
  for (const call of [1, 2, 3, 4, 5]) void groups.add("caller", call);
  expect(held.calls).toEqual([
    [1, 2],
    [3, 4],
  ]);
  held.started[1]?.end();
  expect((await held.nth(2)).calls).toEqual([5]);
});

test("a call that has waited too long rejects, and does not run", async () => {
  const turns = new Turns(-1);
  expect(await settled(turns.run("a", () => expect.unreachable()))).toThrow(TurnTimeout);
});

test("one caller's thousand calls delay another's by one", async () => {
  const turns = new Turns(waitMsMax);
  const order: string[] = [];
  const call = (caller: string) =>
    turns.run(caller, async () => {
      await Promise.resolve();
      order.push(caller);
    });
  const many = Array.from({ length: 1_000 }, () => call("busy"));
  await call("other");
  expect(order.indexOf("other")).toBeLessThanOrEqual(2);
  await Promise.all(many);
  expect(order.length).toBe(1_001);
});

test("the times of callers that were served once are not kept for ever", async () => {
  using set = spyOn(Map.prototype, "set");
  const turns = new Turns(waitMsMax);
  for (let caller = 0; caller < 3_000; caller++) await turns.run(String(caller), async () => undefined);
  const maps = new Set(set.mock.contexts as Map<unknown, unknown>[]);
  expect(maps.size).toBeGreaterThanOrEqual(2);
  for (const map of maps) expect(map.size).toBeLessThanOrEqual(1_000);
});

test("turns follow from the time that callers have taken, also of one who comes back or comes anew", async () => {
  let now = 0;
  using _ = spyOn(performance, "now").mockImplementation(() => now);
  const turns = new Turns(waitMsMax);
  const order: string[] = [];
  const call = (caller: string, ms: number) =>
    turns.run(caller, async () => {
      await Promise.resolve();
      now += ms;
      order.push(caller);
    });
  // Alone, a caller is always served; that counts once others wait.
  await call("slow", 100);
  const slow = [call("slow", 100), call("slow", 100)];
  await Promise.all([...Array.from({ length: 30 }, () => call("quick", 10)), ...slow]);
  const between = order.slice(order.indexOf("quick"), order.lastIndexOf("slow"));
  expect(between.filter((caller) => caller === "quick").length).toBeWithin(9, 12);
  order.length = 0;
  await Promise.all([call("quick", 1), call("quick", 1), call("new", 1), call("quick", 1)]);
  expect(order.indexOf("new")).toBeLessThanOrEqual(1);
});

test("a call whose caller is gone when its turn comes does not run", async () => {
  const turns = new Turns(waitMsMax);
  const first = turns.run("a", async () => 1);
  const gone = settled(
    turns.run(
      "a",
      () => expect.unreachable(),
      () => true,
    ),
  );
  const last = turns.run("a", async () => 3);
  expect(await gone).toThrow(CallerGone);
  expect(await Promise.all([first, last])).toEqual([1, 3]);
});

test("turns run one at a time, in the order of their caller, also after one that fails", async () => {
  const turns = new Turns(waitMsMax);
  let running = 0;
  const results = await Promise.allSettled(
    [1, 2, 3].map((number) =>
      turns.run("a", async () => {
        expect(++running).toBe(1);
        await Promise.resolve();
        running--;
        if (number === 2) throw new Error("no");
        return number;
      }),
    ),
  );
  expect(results.map((result) => (result.status === "fulfilled" ? result.value : "failed"))).toEqual([
    1,
    "failed",
    3,
  ]);
});

test("plants are read by a query of few lengths, each id once", async () => {
  const asked: (readonly SqlValue[])[] = [];
  const sql = {
    async query<Row>(_: string, ids: readonly SqlValue[] = []): Promise<Row[]> {
      asked.push(ids);
      const row = { created_at: 1n, creator: null, row_version: 5n, name: "Rosa" };
      return [2n, 4n].map((id) => ({ ...row, id })) as Row[];
    },
  };
  const ids: PlantId[] = [2n, -3n, 4n, 2n];
  const found = await findPlants(plantStore, sql, ids);
  expect([...found.keys()]).toEqual([2n, 4n]);
  expect(found.get(4n)).toMatchObject({ id: 4n, values: ["Rosa", undefined], createdAt: 1, version: 5n });
  // Three ids, filled up to four.
  expect(asked).toEqual([[2n, -3n, 4n, 2n]]);
});
