// The last hour in samples: what was observed is what is counted, each event in its own five seconds.

import { expect, test } from "bun:test";
import { Histogram } from "../../../src/observability/histogram.ts";
import { RecentSamples, sampleMs, samplesMax } from "../../../src/observability/recent-samples.ts";
import type { Result, ServerEvent } from "../../../src/observability/server-event.ts";

function answered(result: Result, endedAt: number, ms = 1): ServerEvent {
  const exchange = { requestId: "", traceparent: null, method: "POST", path: "/plants", caller: undefined };
  return { kind: "answered", exchange: { ...exchange, startedAt: endedAt - ms, endedAt, status: 0, result } };
}

test("each event is in the sample of its time, and refusals by their code", () => {
  const history = new RecentSamples(1_000);
  history.handle(answered("created", 1_000));
  history.handle({ kind: "committed", plants: 7, startedAt: 1_000, endedAt: 1_001 });
  history.handle({ kind: "committed", plants: 3, startedAt: 1_001, endedAt: 5_999 });
  history.handle(answered("conflict", 5_999));
  history.handle(answered("conflict", 5_999));
  history.handle(answered("tooManyRequests", 5_999));
  history.handle(answered("served", 5_999));
  history.handle(answered("gone", 5_999));
  expect(history.since(0, 5_999)).toEqual({ first: 0, samples: [] });
  history.handle(answered("unchanged", 6_000));
  const { first, samples } = history.since(0, 11_000);
  expect(first).toBe(0);
  expect(samples).toEqual([
    {
      created: 1,
      unchanged: 0,
      refusals: { 40009: 2, 42900: 1 },
      p50Ms: expect.closeTo(1, 0),
      p99Ms: expect.closeTo(1, 0),
      batches: 2,
      batchPlants: 10,
    },
    expect.objectContaining({ created: 0, unchanged: 1, refusals: {}, batches: 0, batchPlants: 0 }),
  ]);
  expect(history.since(1, 11_000)).toEqual({ first: 1, samples: samples.slice(1) });
  expect(history.since(2, 11_000)).toEqual({ first: 2, samples: [] });
});

test("an hour is kept, whatever the pauses, and samples keep their numbers", () => {
  const history = new RecentSamples(0);
  const numbers = new Map<number, number>();
  let number = 0;
  for (const pause of [1, 3, samplesMax - 1, samplesMax, samplesMax + 1, 5, 40 * samplesMax, 2]) {
    history.handle(answered("created", number * sampleMs + 1));
    numbers.set(number, 1);
    number += pause;
    const { first, samples } = history.since(0, number * sampleMs);
    expect(first + samples.length).toBe(number);
    expect(samples.length).toBe(Math.min(number, samplesMax));
    for (const [index, { created }] of samples.entries())
      expect(created).toBe(numbers.get(first + index) ?? 0);
  }
});

test("a quantile is within an eighth above the true one", () => {
  const spectrum = new Histogram();
  expect(spectrum.quantile(0.5)).toBeNull();
  const values = Array.from({ length: 1_000 }, (_, index) => 0.01 * 1.013 ** index);
  for (const value of values) spectrum.add(value);
  for (const part of [0.01, 0.5, 0.9, 0.99, 1]) {
    const exact = values[Math.ceil(part * values.length) - 1] ?? Number.NaN;
    const told = spectrum.quantile(part) ?? Number.NaN;
    expect(told).toBeGreaterThanOrEqual(exact);
    expect(told).toBeLessThan(exact * 1.13);
  }
  spectrum.clear();
  for (const value of [0, -1, 1e12]) spectrum.add(value);
  expect(spectrum.quantile(0.5)).toBeLessThan(0.01);
  expect(spectrum.quantile(1)).toBeGreaterThan(1e6);
  spectrum.clear();
  expect(spectrum.quantile(0.99)).toBeNull();
});
