// How much of a bounded resource one caller may hold, so that it never uses up what others need.

/**
 * A caller may hold so many times what is free: alone 7/8 of a resource. As what it holds comes and goes, each of two
 * callers comes to 7/15 of it, each of three to 7/22, and something always stays free for the next one. This is the dynamic
 * threshold of Choudhury and Hahne, "Dynamic queue length thresholds for shared-memory packet switches" (1998): callers
 * are not counted, and nothing is reserved for those that are not there.
 */
const timesFree = 7;

/** Whether a caller may hold an amount, where so much would then be free. */
export function isWithinShare(held: number, free: number): boolean {
  return held <= timesFree * free;
}

/** A bounded resource, such as memory, of which each caller has a share. */
export class SharedBudget {
  readonly #max: number;
  /** By caller; only those that hold something. */
  readonly #held = new Map<string, number>();
  #used = 0;

  constructor(max: number) {
    assertAmount(max);
    this.#max = max;
  }

  /** What all callers hold together. */
  get used(): number {
    return this.#used;
  }

  /**
   * Gives a caller an amount, unless that is more than there is, or more than its share. What it asks for on top of
   * `own` is held against its share only where it holds something else: alone, a single body may be as large as all of it.
   */
  acquire(caller: string, amount: number, own = 0): boolean {
    assertAmount(amount);
    const held = this.#held.get(caller) ?? 0;
    const free = this.#max - this.#used - amount;
    if (free < 0 || (held > own && !isWithinShare(held + amount, free))) return false;
    if (amount === 0) return true;
    this.#held.set(caller, held + amount);
    this.#used += amount;
    return true;
  }

  /** Takes back what was acquired. */
  release(caller: string, amount: number): void {
    assertAmount(amount);
    const left = (this.#held.get(caller) ?? 0) - amount;
    if (left < 0) throw new RangeError(`A caller gave back ${-left} more than it held`);
    if (left === 0) this.#held.delete(caller);
    else this.#held.set(caller, left);
    this.#used -= amount;
  }
}

/** NaN, once added, would make every later comparison false, and so switch the bound off. */
function assertAmount(amount: number): void {
  if (!Number.isSafeInteger(amount) || amount < 0)
    throw new RangeError(`An amount must be an integer from 0, but is ${amount}`);
}
