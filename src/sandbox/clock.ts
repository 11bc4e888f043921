// The clock of a sandbox, by which tokens expire: the real one, set forward or back by an offset.

/** RFC 3339 writes years of four digits. */
const firstMs = Date.parse("0000-01-01T00:00:00Z");
const lastMs = Date.parse("9999-12-31T23:59:59Z");

/** Times are milliseconds since the epoch. */
export class SandboxClock {
  #offsetMs = 0;

  get offsetMs(): number {
    return this.#offsetMs;
  }

  now(): number {
    return Date.now() + this.#offsetMs;
  }

  /**
   * Sets the offset, in whole milliseconds as the store has times; false, and no change, if the year
   * would not have four digits.
   */
  setOffset(offsetMs: number): boolean {
    const now = Date.now() + offsetMs;
    if (!(now >= firstMs && now <= lastMs)) return false;
    this.#offsetMs = Math.round(offsetMs);
    return true;
  }
}
