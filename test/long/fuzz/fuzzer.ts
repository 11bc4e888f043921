// Coverage-guided search: inputs with new coverage join the corpus, and new inputs are mutations of
// the corpus.

import type { Coverage } from "./coverage.ts";
import { mutate, type Pick } from "./mutations.ts";
import type { FuzzTarget } from "./target.ts";

/** An input for which the check of the target fails. */
export class Finding extends Error {
  readonly input: Buffer;
  /** Which execution found it. */
  readonly execution: number;

  constructor(input: Buffer, execution: number, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.input = input;
    this.execution = execution;
  }
}

const bytesMax = 4_096;
/** Executions between yields to the event loop, for the background work of the code under test. */
const turnEvery = 500;

interface Kept {
  readonly input: Buffer;
  readonly features: readonly number[];
}

export class Fuzzer {
  executions = 0;
  readonly #target: FuzzTarget;
  readonly #coverage: Coverage;
  readonly #pick: Pick;
  readonly #words: readonly Buffer[];
  readonly #kept: Kept[] = [];
  readonly #seen = new Set<number>();
  #favoured: readonly Buffer[] = [];

  constructor(target: FuzzTarget, coverage: Coverage, pick: Pick) {
    this.#target = target;
    this.#coverage = coverage;
    this.#pick = pick;
    // As UTF-8, although headers are decoded as Latin-1.
    this.#words = target.words.map((word) => Buffer.from(word));
  }

  get features(): number {
    return this.#seen.size;
  }

  get kept(): number {
    return this.#kept.length;
  }

  /**
   * Runs an input, and keeps it if it adds coverage. Throws a Finding if the check of the target
   * fails.
   */
  try(input: Buffer): void {
    this.executions++;
    try {
      this.#coverage.take();
      const result = this.#target.run(input);
      const features = this.#coverage.take();
      this.#target.check(input, result);
      const isNew = features.some((feature) => !this.#seen.has(feature));
      for (const feature of features) this.#seen.add(feature);
      if (isNew) this.#kept.push({ input: Buffer.from(input), features });
    } catch (error) {
      throw new Finding(Buffer.from(input), this.executions, error);
    }
  }

  /** Generates and runs inputs while `goesOn` returns true. */
  async search(goesOn: () => boolean): Promise<void> {
    while (goesOn()) {
      this.#favoured = this.smallest();
      for (let left = turnEvery; left > 0 && goesOn(); left--) {
        const [one, other] = [this.#any(), this.#any()];
        this.try(mutate(one, other, this.#words, this.#pick, bytesMax));
      }
      await new Promise(setImmediate);
    }
  }

  /** A small set of inputs with the full coverage, chosen greedily from the shortest up. */
  smallest(): Buffer[] {
    const missing = new Set(this.#seen);
    const chosen: Buffer[] = [];
    for (const { input, features } of this.#kept.toSorted((a, b) => a.input.length - b.input.length)) {
      if (!features.some((feature) => missing.has(feature))) continue;
      for (const feature of features) missing.delete(feature);
      chosen.push(input);
    }
    return chosen;
  }

  /** Prefers the small set with the full coverage: the other kept inputs are mostly redundant. */
  #any(): Buffer {
    if (this.#pick(4) > 0) return this.#favoured[this.#pick(this.#favoured.length)] ?? Buffer.of();
    return this.#kept[this.#pick(this.#kept.length)]?.input ?? Buffer.of();
  }
}
