// Limits how often a line is logged, so that the log does not grow with the traffic.

export class FixedWindowLimiter {
  readonly #countMax: number;
  readonly #periodMs: number;
  #periodEnd = Number.NEGATIVE_INFINITY;
  #count = 0;
  #suppressed = 0;

  /** @param countMax how many are let through in each period. */
  constructor(countMax: number, periodMs: number) {
    this.#countMax = countMax;
    this.#periodMs = periodMs;
  }

  /**
   * Returns how many were suppressed since the last one that was let through, or undefined if this
   * one is suppressed too. `now` is in milliseconds of a clock that never runs backwards.
   */
  tryAcquire(now: number): number | undefined {
    if (now >= this.#periodEnd) {
      this.#periodEnd = now + this.#periodMs;
      this.#count = 0;
    }
    if (this.#count >= this.#countMax) {
      this.#suppressed++;
      return undefined;
    }
    this.#count++;
    const suppressed = this.#suppressed;
    this.#suppressed = 0;
    return suppressed;
  }
}
