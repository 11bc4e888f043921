// Draws random numbers that repeat: the same seed gives the same numbers on every machine.

/**
 * SplitMix32: a Weyl sequence with the golden ratio's increment, and the finalizer "lowbias32" of
 * Chris Wellons' hash prospector. The state is 32 bits.
 */
export class SeededRandom {
  readonly seed: number;
  #state: number;

  /** @param seed an integer from 0 to 2^32 - 1. */
  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed;
  }

  /** A number from 0 up to, but not including, 1. */
  next(): number {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return ((mixed ^ (mixed >>> 15)) >>> 0) / 2 ** 32;
  }
}
