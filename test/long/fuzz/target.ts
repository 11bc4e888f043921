// The interface of a fuzz target.

/** A function of the server's that takes bytes from a stranger, beside an independent judge of the same bytes. */
export interface FuzzTarget {
  /** The name of its folder in corpus/. */
  readonly name: string;
  /** Inputs that have something of what is accepted. */
  readonly seeds: readonly string[];
  /** Pieces that the reader knows: no search by bytes finds them soon. */
  readonly words: readonly string[];
  readonly open: () => Promise<void>;
  readonly close: () => Promise<void>;
  /** Runs the code under test alone: what it runs through is the input's coverage. */
  readonly run: (input: Buffer) => unknown;
  /** Throws where the result is not what the independent judge says. */
  readonly check: (input: Buffer, result: unknown) => void;
}
