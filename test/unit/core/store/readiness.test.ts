// Readiness: when it probes the store, with a clock that moves by hand or by a pause.

import { expect, test } from "bun:test";
import { Readiness } from "../../../../src/core/store/readiness.ts";

class ProbedStore {
  isBroken = false;
  now = 0;
  /** When each probe began. */
  readonly probedAt: number[] = [];
  readonly readiness = new Readiness(
    {
      assertWritable: async () => {
        this.probedAt.push(this.now);
        if (this.isBroken) throw new Error("broken");
      },
    },
    () => this.now,
    async (ms) => {
      this.now += ms;
    },
  );

  /** Whether it is ready, and how many probes that took. */
  async ask(): Promise<[isReady: boolean, probes: number]> {
    const before = this.probedAt.length;
    const [{ status }] = await Promise.allSettled([this.readiness.assertReady()]);
    return [status === "fulfilled", this.probedAt.length - before];
  }
}

test("one probe serves all requests while it runs, and for a second after it", async () => {
  const store = new ProbedStore();
  await Promise.all(Array.from({ length: 200 }, () => store.readiness.assertReady()));
  expect(store.probedAt).toHaveLength(1);
  store.now += 999;
  expect(await store.ask()).toEqual([true, 0]);
  store.now += 1;
  expect(await store.ask()).toEqual([true, 1]);
});

test("a committed create is evidence for a second; a batch that wrote nothing is not", async () => {
  const store = new ProbedStore();
  store.readiness.update(["created"]);
  // Before the first probe it is not.
  expect(await store.ask()).toEqual([true, 1]);
  store.now += 10_000;
  store.readiness.update(["unchanged", "created"]);
  store.now += 999;
  expect(await store.ask()).toEqual([true, 0]);
  store.now += 10_000;
  store.readiness.update(["unchanged", "conflict"]);
  expect(await store.ask()).toEqual([true, 1]);
});

test.each([[["created", "unavailable"]], [undefined]] as const)(
  "after a failed batch (%p) only a probe is evidence, and probes of a failing store are spaced",
  async (outcomes) => {
    const store = new ProbedStore();
    expect(await store.ask()).toEqual([true, 1]);
    store.isBroken = true;
    expect(await store.ask()).toEqual([true, 0]);
    store.readiness.update(outcomes);
    for (let asked = 0; asked < 5; asked++) expect(await store.ask()).toEqual([false, 1]);
    const distances = store.probedAt.slice(1).map((at, index) => at - (store.probedAt[index] ?? 0));
    expect(Math.min(...distances)).toBe(100);

    store.isBroken = false;
    // It may have been a plant that fitted where the probe does not.
    store.readiness.update(["created"]);
    expect(await store.ask()).toEqual([true, 1]);
    store.now += 10_000;
    store.readiness.update(["created"]);
    expect(await store.ask()).toEqual([true, 0]);
  },
);
