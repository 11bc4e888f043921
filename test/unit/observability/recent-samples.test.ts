// The samples of the last hour: every event is counted in the sample of its time.

import { expect, test } from "bun:test";
import { RecentSamples, sampleMs, samplesMax } from "../../../src/observability/recent-samples.ts";
import type { Result, ServerEvent } from "../../../src/observability/server-event.ts";

function completed(result: Result, endedAt: number, ms = 1): ServerEvent {
  const request = { requestId: "", traceparent: null, method: "POST", path: "/plants", caller: undefined };
  return {
    kind: "requestCompleted",
    request: { ...request, startedAt: endedAt - ms, endedAt, status: 0, result },
  };
}

test("each event is in the sample of its time, and errors by their number", () => {
  const recent = new RecentSamples(1_000);
  recent.handle(completed("created", 1_000));
  recent.handle({ kind: "batchCommitted", plants: 7, startedAt: 1_000, endedAt: 1_001 });
  recent.handle({ kind: "batchCommitted", plants: 3, startedAt: 1_001, endedAt: 5_999 });
  recent.handle(completed("conflict", 5_999));
  recent.handle(completed("conflict", 5_999));
  recent.handle(completed("tooManyRequests", 5_999));
  recent.handle(completed("served", 5_999));
  recent.handle(completed("clientAborted", 5_999));
  expect(recent.since(0, 5_999)).toEqual({ first: 0, samples: [] });
  recent.handle(completed("unchanged", 6_000));
  const { first, samples } = recent.since(0, 11_000);
  expect(first).toBe(0);
  expect(samples).toEqual([
    {
      created: 1,
      unchanged: 0,
      errors: { 40009: 2, 42900: 1 },
      p50Ms: expect.closeTo(1, 0),
      p99Ms: expect.closeTo(1, 0),
      batches: 2,
      batchPlants: 10,
    },
    expect.objectContaining({ created: 0, unchanged: 1, errors: {}, batches: 0, batchPlants: 0 }),
  ]);
  expect(recent.since(1, 11_000)).toEqual({ first: 1, samples: samples.slice(1) });
  expect(recent.since(2, 11_000)).toEqual({ first: 2, samples: [] });
});

test("the last hour is stored, whatever the pauses, and samples keep their numbers", () => {
  const recent = new RecentSamples(0);
  const numbers = new Map<number, number>();
  let number = 0;
  for (const pause of [1, 3, samplesMax - 1, samplesMax, samplesMax + 1, 5, 40 * samplesMax, 2]) {
    recent.handle(completed("created", number * sampleMs + 1));
    numbers.set(number, 1);
    number += pause;
    const { first, samples } = recent.since(0, number * sampleMs);
    expect(first + samples.length).toBe(number);
    expect(samples.length).toBe(Math.min(number, samplesMax));
    for (const [index, { created }] of samples.entries())
      expect(created).toBe(numbers.get(first + index) ?? 0);
  }
});

test("p50 and p99 are at most an eighth above the exact percentile", () => {
  const recent = new RecentSamples(0);
  let number = 0;
  /** The sample of some creates with these latencies. */
  const sampleOf = (latencies: readonly number[]) => {
    for (const ms of latencies) recent.handle(completed("created", number * sampleMs + 1, ms));
    const { samples } = recent.since(number, ++number * sampleMs);
    return samples[0];
  };
  expect(sampleOf([])?.p50Ms).toBeNull();
  const values = Array.from({ length: 1_000 }, (_, index) => 0.01 * 1.013 ** index);
  for (const count of [1, 10, 100, 500, 1_000]) {
    const sample = sampleOf(values.slice(0, count));
    for (const [part, percentile] of [
      [0.5, sample?.p50Ms],
      [0.99, sample?.p99Ms],
    ] as const) {
      const exact = values[Math.ceil(part * count) - 1] ?? Number.NaN;
      expect(percentile ?? Number.NaN).toBeGreaterThanOrEqual(exact);
      expect(percentile ?? Number.NaN).toBeLessThan(exact * 1.13);
    }
  }
  const extremes = sampleOf([0, -1, 1e12]);
  expect(extremes?.p50Ms).toBeLessThan(0.01);
  expect(extremes?.p99Ms).toBeGreaterThan(1e6);
  expect(sampleOf([])?.p99Ms).toBeNull();
});
