// Limits what one caller may hold of a limited resource, so that some always remains for others.

/**
 * A caller may hold at most this many times the free amount: alone 7/8 of the resource, each of two
 * 7/15, each of three 7/22. This is the dynamic threshold of Choudhury and Hahne, "Dynamic queue
 * length thresholds for shared-memory packet switches" (1998): it needs no count of the callers,
 * and reserves nothing for absent ones.
 */
const timesFree = 7;

/** Above this many callers, those that hold nothing are forgotten. */
const callersMax = 1_024;

/** A limited resource, such as memory, of which each caller has a share. */
export class SharedBudget {
  readonly #max: () => number;
  /**
   * Keyed by caller: one object that stays, because setting and deleting a number cost 0.5 µs an
   * item.
   */
  readonly #held = new Map<string, { amount: number }>();
  #used = 0;

  /** @param max read at each use, so it may change. */
  constructor(max: () => number) {
    this.#max = max;
  }

  get used(): number {
    return this.#used;
  }

  /**
   * Whether a caller may acquire an amount: it must neither exceed the free amount nor the caller's
   * share. A caller that holds nothing has no share: a single item may take all of the resource.
   */
  allows(caller: string, amount: number): boolean {
    return this.#allows(this.#held.get(caller)?.amount ?? 0, amount);
  }

  #allows(before: number, amount: number): boolean {
    const free = this.#max() - this.#used - amount;
    return free >= 0 && (before === 0 || before + amount <= timesFree * free);
  }

  /** Acquires an amount for a caller; false, and nothing acquired, if it is not allowed. */
  acquire(caller: string, amount: number): boolean {
    if (amount === 0) return true;
    const held = this.#held.get(caller);
    if (!this.#allows(held?.amount ?? 0, amount)) return false;
    if (held === undefined) this.#held.set(caller, { amount });
    else held.amount += amount;
    this.#used += amount;
    return true;
  }

  /** Releases all that callers hold. */
  clear(): void {
    this.#held.clear();
    this.#used = 0;
  }

  release(caller: string, amount: number): void {
    if (amount === 0) return;
    const held = this.#held.get(caller);
    if (held === undefined || held.amount < amount)
      throw new RangeError(`A caller released ${amount} and held ${held?.amount ?? 0}`);
    held.amount -= amount;
    this.#used -= amount;
    if (held.amount === 0 && this.#held.size > callersMax) this.#held.delete(caller);
  }
}
