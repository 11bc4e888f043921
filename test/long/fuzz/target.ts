// The interface of a fuzz target.

/** A function of the server that parses untrusted bytes, with an independent oracle. */
export interface FuzzTarget {
  /** The name of its folder in corpus/. */
  readonly name: string;
  /** Inputs that are accepted, or close to it. */
  readonly seeds: readonly string[];
  /** Tokens of the grammar, which mutations of single bytes would rarely produce. */
  readonly words: readonly string[];
  readonly open: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** Runs the code under test only; its coverage is that of the input. */
  readonly run: (input: Buffer) => unknown;
  /** Throws if the result differs from that of the oracle. */
  readonly check: (input: Buffer, result: unknown) => void;
}
