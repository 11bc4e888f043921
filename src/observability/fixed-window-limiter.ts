// So many in so long: what keeps a log from growing with the traffic.

export class FixedWindowLimiter {
  readonly #countMax: number;
  readonly #periodMs: number;
  #periodEnd = Number.NEGATIVE_INFINITY;
  #count = 0;
  #leftOut = 0;

  constructor(countMax: number, periodMs: number) {
    this.#countMax = countMax;
    this.#periodMs = periodMs;
  }

  /**
   * How many were left out since the last one that was not; undefined if this one is to be left out as well.
   *
   * @param now Milliseconds of any clock, always the same one.
   */
  tryAcquire(now: number): number | undefined {
    if (now >= this.#periodEnd) {
      this.#periodEnd = now + this.#periodMs;
      this.#count = 0;
    }
    if (this.#count >= this.#countMax) {
      this.#leftOut++;
      return undefined;
    }
    this.#count++;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    return leftOut;
  }
}
