// Counts events in samples of ten seconds, for the last 15 minutes of each collection, for the
// console's charts.

import { createHistogram } from "node:perf_hooks";
import { errorNumber } from "../../base/errors.ts";
import type { RequestRecord, ServerEvent } from "../../base/server-event.ts";
import type { Collection, Contract } from "../../contract/contract.ts";

export const sampleMs = 10_000;
export const samplesMax = 90;

/** Latencies are recorded in microseconds, up to an hour, with an error of less than 1 %. */
const latencyOptions = { lowest: 1, highest: 3_600_000_000, figures: 2 } as const;

/**
 * The samples of each collection. A request is counted for the collection that has its path;
 * commits, and requests for what belongs to none, are counted for all. Finding the collection takes
 * at most 20 ns.
 */
export class CollectionSamples {
  #all: readonly RecentSamples[] = [];
  readonly #startsAt: number;
  readonly #epochMs: number;
  /** The samples of a contract without collections, in which nothing is counted. */
  readonly #none: RecentSamples;
  readonly #byPath = new Map<string, RecentSamples>();

  /** @param startsAt, epochMs those of RecentSamples. */
  constructor(contract: Contract, startsAt: number, epochMs: number) {
    this.#startsAt = startsAt;
    this.#epochMs = epochMs;
    this.#none = new RecentSamples(startsAt, epochMs);
    this.follow(contract);
  }

  /** Counts for the collections of another contract, and goes on for those that it keeps. */
  follow({ collections }: Contract): void {
    const former = new Map(this.#byPath);
    this.#byPath.clear();
    for (const { path, itemPath } of collections) {
      const samples = former.get(path) ?? new RecentSamples(this.#startsAt, this.#epochMs);
      for (const each of [path, itemPath]) this.#byPath.set(each, samples);
    }
    this.#all = [...new Set(this.#byPath.values())];
  }

  of(collection: Collection | undefined): RecentSamples {
    return this.#byPath.get(collection?.path ?? "") ?? this.#none;
  }

  handle(event: ServerEvent): void {
    const path = event.kind === "requestCompleted" ? event.request.operation?.path : undefined;
    const own = path === undefined ? undefined : this.#byPath.get(path);
    if (own !== undefined) own.handle(event);
    else for (const samples of this.#all) samples.handle(event);
  }
}

/** The events of ten seconds. */
export interface Sample {
  /** Plants created by requests, and creates of plants that were already stored. */
  readonly created: number;
  readonly unchanged: number;
  /** Plants created in the console: by imports, the form and undos of deletions. */
  readonly imported: number;
  /** Errors by their number, without those that did not occur. */
  readonly errors: Readonly<Record<string, number>>;
  /** Latency of the creates with status 200, in milliseconds; null if there were none. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

const noCounts = () => ({
  created: 0,
  unchanged: 0,
  imported: 0,
  errors: {} as Record<string, number>,
});

const emptySample: Sample = { ...noCounts(), p50Ms: null, p99Ms: null };

/**
 * A sample ends with the first event after its time, or when the samples are read. An event costs
 * 40 ns.
 */
export class RecentSamples {
  /**
   * Milliseconds from the clock of the events to the epoch. Constant, so that a clock that is set
   * leaves no gap.
   */
  readonly #epochOffset: number;
  /** Samples without events are not stored. In the order of the numbers. */
  readonly #byNumber = new Map<number, Sample>();
  readonly #start: number;
  #number: number;
  #endsAt: number;
  #counts = noCounts();
  readonly #createMicros = createHistogram(latencyOptions);

  /**
   * @param startsAt the start, by the clock of the events.
   * @param epochMs the same time in milliseconds since the epoch.
   */
  constructor(startsAt: number, epochMs: number) {
    this.#epochOffset = epochMs - startsAt;
    this.#start = Math.floor(epochMs / sampleMs);
    this.#number = this.#start;
    this.#endsAt = this.#startOf(this.#number + 1);
  }

  handle(event: ServerEvent): void {
    if (event.kind === "requestCompleted") this.#countRequest(event.request);
  }

  /** Counts plants that the console has created, or found stored. */
  countImported(created: number, unchanged: number, now: number): void {
    this.#endSamples(now);
    this.#counts.imported += created;
    this.#counts.unchanged += unchanged;
  }

  /** The samples that have ended, oldest first, and the start of the first since the epoch. */
  list(now: number) {
    this.#endSamples(now);
    const first = Math.max(this.#start, this.#number - samplesMax);
    const samples = Array.from(
      { length: this.#number - first },
      (_, index) => this.#byNumber.get(first + index) ?? emptySample,
    );
    return { startsAtMs: first * sampleMs, samples, sampleMs, samplesMax };
  }

  #startOf(number: number): number {
    return number * sampleMs - this.#epochOffset;
  }

  #countRequest({ result, startedAt, endedAt }: RequestRecord): void {
    this.#endSamples(endedAt);
    if (result === "created" || result === "unchanged") {
      this.#counts[result]++;
      const micros = Math.ceil((endedAt - startedAt) * 1_000);
      this.#createMicros.record(Math.max(latencyOptions.lowest, Math.min(latencyOptions.highest, micros)));
      return;
    }
    const error = errorNumber(result);
    const { errors } = this.#counts;
    if (error !== undefined) errors[error] = (errors[error] ?? 0) + 1;
  }

  #endSamples(now: number): void {
    if (now < this.#endsAt) return;
    this.#byNumber.set(this.#number, this.#takeSample());
    for (const old of this.#byNumber.keys()) {
      if (old > this.#number - samplesMax) break;
      this.#byNumber.delete(old);
    }
    this.#number = Math.floor((now + this.#epochOffset) / sampleMs);
    this.#endsAt = this.#startOf(this.#number + 1);
  }

  /** The sample that is being counted, which starts again from zero. */
  #takeSample(): Sample {
    const creates = this.#createMicros;
    const percentileMs = (percentile: number) =>
      creates.count === 0 ? null : creates.percentile(percentile) / 1_000;
    const sample = { ...this.#counts, p50Ms: percentileMs(50), p99Ms: percentileMs(99) };
    this.#counts = noCounts();
    creates.reset();
    return sample;
  }
}
