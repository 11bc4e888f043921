// The interface of a fuzz target.

/** A function of the server that parses bytes of a client, and an oracle for the same bytes. */
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
  /** Throws if the result differs from the oracle's. */
  readonly check: (input: Buffer, result: unknown) => void;
}
