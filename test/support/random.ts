// A seeded generator of random numbers: the same seed gives the same numbers on every machine.

export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
    // The first numbers of neighbouring seeds are alike.
    for (let round = 0; round < 4; round++) this.#next();
  }

  /** Another generator, independent of later calls of this one. */
  fork(): Random {
    return new Random(this.#next());
  }

  /** From 0 up to 1, without it. */
  unit(): number {
    return this.#next() / 2 ** 32;
  }

  /** From 0 up to a number, without it. */
  below(end: number): number {
    return Math.floor(this.unit() * end);
  }

  /** From one number to another. */
  between(least: number, most: number): number {
    return least + this.unit() * (most - least);
  }

  chance(probability: number): boolean {
    return this.unit() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
    if (item === undefined) throw new RangeError("There is nothing to pick from");
    return item;
  }

  /** Any int64, with those at the edges over-represented. */
  int64(): bigint {
    const edges = [0n, -1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 2n ** 63n - 1n, -(2n ** 63n)];
    if (this.chance(0.2)) return this.pick(edges);
    return BigInt.asIntN(64, (BigInt(this.#next()) << 32n) | BigInt(this.#next()));
  }

  /** Splitmix32. */
  #next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }
}
