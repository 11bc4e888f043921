// What the generator notes of its requests, and the figures that it makes of them.

import { fates, type GeneratorPlan, type GeneratorReport, type Quantiles } from "./generated-load.ts";

/** A request on its way. */
export interface Sent {
  readonly index: number;
  readonly scheduledAt: number;
  readonly sentAt: number;
}

export class GeneratedFigures {
  readonly #from: number;
  readonly #until: number;
  #fates = new Uint8Array(2 ** 20);
  #sent = 0;
  readonly #measured = { scheduled: 0, sent: 0, accepted: 0, refused: 0 };
  readonly #whole = { accepted: 0, refused: 0 };
  readonly #acceptedFromSchedule: number[] = [];
  readonly #acceptedFromSending: number[] = [];
  readonly #refusedFromSending: number[] = [];
  readonly #behindSchedule: number[] = [];

  constructor({ leadInSeconds, seconds }: GeneratorPlan, startedAt: number) {
    this.#from = startedAt + leadInSeconds * 1_000;
    this.#until = this.#from + seconds * 1_000;
  }

  scheduled(at: number): void {
    if (this.#isMeasured(at)) this.#measured.scheduled++;
  }

  /** Notes a request that is about to be sent. Its index counts from 0. */
  sent(scheduledAt: number, now: number): Sent {
    if (this.#sent === this.#fates.length) this.#makeRoom();
    if (this.#isMeasured(scheduledAt)) {
      this.#measured.sent++;
      this.#behindSchedule.push(now - scheduledAt);
    }
    return { index: this.#sent++, scheduledAt, sentAt: now };
  }

  /** Latency counts for requests that were due within the measured time; goodput for answers that came in it. */
  answered({ index, scheduledAt, sentAt }: Sent, fate: "accepted" | "refused", now: number): void {
    this.#fates[index] = fates[fate];
    this.#whole[fate]++;
    if (this.#isMeasured(now)) this.#measured[fate]++;
    if (!this.#isMeasured(scheduledAt)) return;
    if (fate === "refused") this.#refusedFromSending.push(now - sentAt);
    else {
      this.#acceptedFromSchedule.push(now - scheduledAt);
      this.#acceptedFromSending.push(now - sentAt);
    }
  }

  /** The fate of each request that was sent. */
  get fates(): Uint8Array {
    return this.#fates.subarray(0, this.#sent);
  }

  report(seconds: number): GeneratorReport {
    const refused = this.#refusedFromSending;
    return {
      measured: this.#measured,
      acceptedFromSchedule: quantilesOf(this.#acceptedFromSchedule),
      acceptedFromSending: quantilesOf(this.#acceptedFromSending),
      refusedFromSending: refused.length === 0 ? undefined : quantilesOf(refused),
      behindSchedule: quantilesOf(this.#behindSchedule),
      whole: { seconds, ...this.#whole },
    };
  }

  #isMeasured(moment: number): boolean {
    return moment >= this.#from && moment < this.#until;
  }

  #makeRoom(): void {
    const larger = new Uint8Array(this.#fates.length * 2);
    larger.set(this.#fates);
    this.#fates = larger;
  }
}

function quantilesOf(values: readonly number[]): Quantiles {
  const sorted = Float64Array.from(values).sort();
  const at = (part: number): number => {
    const value = sorted[Math.ceil(part * sorted.length) - 1];
    if (value === undefined) throw new Error("the generator measured nothing");
    return value;
  };
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
