// The last hour in samples of five seconds, for plots: counted from events, kept in memory.

import { type ErrorCode, errorRegistry } from "../contract/errors.ts";
import { Histogram } from "./histogram.ts";
import type { BatchCommitted, RequestRecord, ServerEvent } from "./server-event.ts";

export const sampleMs = 5_000;
export const samplesMax = 720;

/** What happened within one sample's time. */
export interface Sample {
  /** Plants created, and requests for plants that were there already. */
  readonly created: number;
  readonly unchanged: number;
  /** Refusals by the error's number; only those that there were. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Of the creates answered with 200, in milliseconds; null where there were none. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly batches: number;
  /** Plants in all batches. */
  readonly batchPlants: number;
}

/** Samples of a row, oldest first; the first one has this number, counted since the server's start. */
export interface Samples {
  readonly first: number;
  readonly samples: readonly Sample[];
}

/** Needs no timer: a sample ends with the first event after its time, or when it is asked for. 30 ns an event. */
export class RecentSamples {
  readonly #samples: Sample[] = [];
  #first = 0;
  #endsAt: number;
  #created = 0;
  #unchanged = 0;
  #refusals = new Map<ErrorCode, number>();
  readonly #createMs = new Histogram();
  #batches = 0;
  #batchPlants = 0;

  /** @param startsAt a moment of the clock that the events are told by. */
  constructor(startsAt: number) {
    this.#endsAt = startsAt + sampleMs;
  }

  handle(event: ServerEvent): void {
    if (event.kind === "answered") this.#answered(event.exchange);
    else if (event.kind === "committed") this.#committed(event);
  }

  /** Those that are over, from a number on. */
  since(number: number, now: number): Samples {
    this.#endSamples(now);
    const first = Math.max(this.#first, number);
    return { first, samples: this.#samples.slice(first - this.#first) };
  }

  #answered({ result, startedAt, endedAt }: RequestRecord): void {
    if (endedAt >= this.#endsAt) this.#endSamples(endedAt);
    switch (result) {
      case "created":
        this.#created++;
        this.#createMs.add(endedAt - startedAt);
        break;
      case "unchanged":
        this.#unchanged++;
        this.#createMs.add(endedAt - startedAt);
        break;
      case "served":
      case "gone":
        break;
      default:
        this.#refusals.set(result, (this.#refusals.get(result) ?? 0) + 1);
    }
  }

  #committed({ plants, endedAt }: BatchCommitted): void {
    if (endedAt >= this.#endsAt) this.#endSamples(endedAt);
    this.#batches++;
    this.#batchPlants += plants;
  }

  #endSamples(now: number): void {
    while (now >= this.#endsAt) {
      this.#samples.push(this.#takeSample());
      this.#endsAt += sampleMs;
      // After a pause of days all that was before it is left behind at once.
      const passedOver = Math.floor((now - this.#endsAt) / sampleMs) - samplesMax;
      if (passedOver <= 0) continue;
      this.#first += passedOver;
      this.#endsAt += passedOver * sampleMs;
    }
    const tooMany = this.#samples.length - samplesMax;
    if (tooMany <= 0) return;
    this.#samples.splice(0, tooMany);
    this.#first += tooMany;
  }

  #takeSample(): Sample {
    const sample = {
      created: this.#created,
      unchanged: this.#unchanged,
      refusals: Object.fromEntries(
        [...this.#refusals].map(([code, count]) => [errorRegistry[code].error, count]),
      ),
      p50Ms: this.#createMs.quantile(0.5),
      p99Ms: this.#createMs.quantile(0.99),
      batches: this.#batches,
      batchPlants: this.#batchPlants,
    };
    this.#created = 0;
    this.#unchanged = 0;
    this.#refusals = new Map();
    this.#createMs.clear();
    this.#batches = 0;
    this.#batchPlants = 0;
    return sample;
  }
}
