// The samples of the last minutes: every event is counted in the sample of its time.

import { expect, test } from "bun:test";
import { join } from "node:path";
import type { Result, ServerEvent } from "../../../src/base/server-event.ts";
import {
  CollectionSamples,
  RecentSamples,
  sampleMs,
  samplesMax,
} from "../../../src/console/reads/recent-samples.ts";
import { readContract } from "../../../src/openapi/description/read-contract.ts";

function completed(result: Result, endedAt: number, ms = 1): ServerEvent {
  const request = { requestId: "", traceparent: null, method: "POST", path: "/plants", caller: undefined };
  return {
    kind: "requestCompleted",
    request: { ...request, startedAt: endedAt - ms, endedAt, status: 0, result },
  };
}

/** Samples whose clock starts at the epoch, so that numbers count from 0. */
function startAtEpoch(): RecentSamples {
  return new RecentSamples(0, 0);
}

test("each event is in the sample of its time, and errors by their number", () => {
  const recent = new RecentSamples(1_000, 1_000);
  recent.handle(completed("created", 1_000));
  recent.countImported(40, 2, 9_999);
  recent.handle(completed("conflict", 9_999));
  recent.handle(completed("conflict", 9_999));
  recent.handle(completed("tooManyRequests", 9_999));
  recent.handle(completed("clientAborted", 9_999));
  recent.handle(completed("clientAborted", 9_999));
  expect(recent.list(9_999)).toMatchObject({ startsAtMs: 0, samples: [] });
  recent.handle(completed("unchanged", 10_000));
  const { startsAtMs, samples } = recent.list(20_000);
  expect(startsAtMs).toBe(0);
  expect(samples).toEqual([
    {
      created: 1,
      unchanged: 2,
      imported: 40,
      errors: { 40009: 2, 42900: 1 },
      p50Ms: expect.closeTo(1, 0),
      p99Ms: expect.closeTo(1, 0),
    },
    expect.objectContaining({
      created: 0,
      unchanged: 1,
      imported: 0,
      errors: {},
    }),
  ]);
});

test("a request is counted for the collection of its path, and what belongs to none for all", async () => {
  const text = await Bun.file(join(import.meta.dir, "../../contracts/estate.yaml")).text();
  const estate = await readContract({ text });
  const all = new CollectionSamples(estate, 0, 0);
  const request = (result: Result, path?: string) => {
    const event = completed(result, 1) as Extract<ServerEvent, { kind: "requestCompleted" }>;
    const operation = path === undefined ? undefined : { operationId: "", path };
    all.handle({ ...event, request: { ...event.request, operation } });
  };
  request("created", "/parcels");
  request("created", "/couriers");
  request("conflict", "/couriers/{id}");
  request("notFound");
  const counted = estate.collections.map((collection) => all.of(collection).list(sampleMs).samples[0]);
  expect(counted).toMatchObject([
    { created: 1, errors: { 40400: 1 } },
    { created: 1, errors: { 40400: 1, 40009: 1 } },
    { created: 0, errors: { 40400: 1 } },
  ]);
  expect(Object.keys(counted[0]?.errors ?? {})).toEqual(["40400"]);
});

test("samples begin at multiples of their length since the epoch, whatever the clock of the events starts at", () => {
  const epochMs = 1_000 * sampleMs + 2_000;
  const recent = new RecentSamples(77, epochMs);
  recent.handle(completed("created", 77 + 7_999));
  recent.handle(completed("created", 77 + 8_000));
  const { startsAtMs, samples } = recent.list(77 + 18_000);
  expect([startsAtMs, samples.map(({ created }) => created)]).toEqual([1_000 * sampleMs, [1, 1]]);
});

test("the last minutes are stored, whatever the pauses", () => {
  const recent = startAtEpoch();
  const numbers = new Map<number, number>();
  let number = 0;
  for (const pause of [1, 3, samplesMax - 1, samplesMax, samplesMax + 1, 5, 40 * samplesMax, 2]) {
    recent.handle(completed("created", number * sampleMs + 1));
    numbers.set(number, 1);
    number += pause;
    const { startsAtMs, samples } = recent.list(number * sampleMs);
    const first = startsAtMs / sampleMs;
    expect(first + samples.length).toBe(number);
    expect(samples.length).toBe(Math.min(number, samplesMax));
    for (const [index, sample] of samples.entries())
      expect(sample.created).toBe(numbers.get(first + index) ?? 0);
  }
});

test("p50 and p99 are those of the creates of a sample, whatever their latency", () => {
  const recent = startAtEpoch();
  let number = 0;
  /** The latencies of a sample of some creates. */
  const latenciesOf = (creates: readonly number[]) => {
    for (const ms of creates) recent.handle(completed("created", number * sampleMs + 1, ms));
    const sample = recent.list(++number * sampleMs).samples.at(-1);
    return [sample?.p50Ms, sample?.p99Ms];
  };
  expect(latenciesOf([])).toEqual([null, null]);
  const hundred = latenciesOf(Array.from({ length: 100 }, (_, index) => index + 1));
  expect(hundred.map((ms) => Math.round(ms ?? 0))).toEqual([50, 99]);
  const [shortest, longest] = latenciesOf([0, -1, 1e12]);
  expect(shortest).toBeLessThan(0.01);
  expect(longest).toBeGreaterThan(1e6);
  expect(latenciesOf([])).toEqual([null, null]);
});
