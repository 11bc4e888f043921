// Samples of five seconds for the last hour, counted from events and stored in memory, for the console's charts.

import { createHistogram } from "node:perf_hooks";
import { type ErrorCode, errorRegistry } from "../contract/errors.ts";
import type { BatchCommitted, RequestRecord, ServerEvent } from "./server-event.ts";

export const sampleMs = 5_000;
export const samplesMax = 720;

/** Latencies are recorded in microseconds, up to an hour, with an error of less than 1 %. */
const latencyOptions = { lowest: 1, highest: 3_600_000_000, figures: 2 } as const;

/** The events of five seconds. */
export interface Sample {
  /** Plants created, and creates of plants that were already stored. */
  readonly created: number;
  readonly unchanged: number;
  /** Errors by their number, without those that did not occur. */
  readonly errors: Readonly<Record<string, number>>;
  /** Latency of the creates with status 200, in milliseconds; null if there were none. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly batches: number;
  /** Plants in all batches. */
  readonly batchPlants: number;
}

/** Consecutive samples, oldest first; `first` is the number of the first one, counted from the start of the server. */
export interface Samples {
  readonly first: number;
  readonly samples: readonly Sample[];
}

/** Without a timer: a sample ends with the first event after its time, or when the samples are read. An event costs 40 ns. */
export class RecentSamples {
  readonly #samples: Sample[] = [];
  #first = 0;
  #endsAt: number;
  #created = 0;
  #unchanged = 0;
  #errors = new Map<ErrorCode, number>();
  readonly #createMicros = createHistogram(latencyOptions);
  #batches = 0;
  #batchPlants = 0;

  /** @param startsAt the start of the first sample, by the clock of the events. */
  constructor(startsAt: number) {
    this.#endsAt = startsAt + sampleMs;
  }

  handle(event: ServerEvent): void {
    if (event.kind === "requestCompleted") this.#countRequest(event.request);
    else if (event.kind === "batchCommitted") this.#countBatch(event);
  }

  /** The samples that have ended, from a number on. */
  since(number: number, now: number): Samples {
    this.#endSamples(now);
    const first = Math.max(this.#first, number);
    return { first, samples: this.#samples.slice(first - this.#first) };
  }

  #countRequest({ result, startedAt, endedAt }: RequestRecord): void {
    if (endedAt >= this.#endsAt) this.#endSamples(endedAt);
    switch (result) {
      case "created":
        this.#created++;
        this.#recordLatency(endedAt - startedAt);
        break;
      case "unchanged":
        this.#unchanged++;
        this.#recordLatency(endedAt - startedAt);
        break;
      case "served":
      case "clientAborted":
        break;
      default:
        this.#errors.set(result, (this.#errors.get(result) ?? 0) + 1);
    }
  }

  #countBatch({ plants, endedAt }: BatchCommitted): void {
    if (endedAt >= this.#endsAt) this.#endSamples(endedAt);
    this.#batches++;
    this.#batchPlants += plants;
  }

  #endSamples(now: number): void {
    while (now >= this.#endsAt) {
      this.#samples.push(this.#endSample());
      this.#endsAt += sampleMs;
      // After a pause of days the samples that would be dropped anyway are skipped at once.
      const skipped = Math.floor((now - this.#endsAt) / sampleMs) - samplesMax;
      if (skipped <= 0) continue;
      this.#first += skipped;
      this.#endsAt += skipped * sampleMs;
    }
    const excess = this.#samples.length - samplesMax;
    if (excess <= 0) return;
    this.#samples.splice(0, excess);
    this.#first += excess;
  }

  #endSample(): Sample {
    const sample = {
      created: this.#created,
      unchanged: this.#unchanged,
      errors: Object.fromEntries(
        [...this.#errors].map(([code, count]) => [errorRegistry[code].error, count]),
      ),
      p50Ms: this.#latencyPercentile(50),
      p99Ms: this.#latencyPercentile(99),
      batches: this.#batches,
      batchPlants: this.#batchPlants,
    };
    this.#created = 0;
    this.#unchanged = 0;
    this.#errors = new Map();
    this.#createMicros.reset();
    this.#batches = 0;
    this.#batchPlants = 0;
    return sample;
  }

  #recordLatency(ms: number): void {
    const { lowest, highest } = latencyOptions;
    this.#createMicros.record(Math.max(lowest, Math.min(highest, Math.ceil(ms * 1_000))));
  }

  #latencyPercentile(percentile: number): number | null {
    return this.#createMicros.count === 0 ? null : this.#createMicros.percentile(percentile) / 1_000;
  }
}
