// The work that the checks of one body may take.

/** Thrown when the work of a body is used up: its schema takes too long for it. */
export class WorkExceeded extends Error {
  constructor() {
    super("checking the value against the contract's schema takes too long");
  }
}

/** Why a value that made its check throw is not accepted; undefined for an error of another kind. */
export function excessOf(error: unknown): string | undefined {
  if (error instanceof WorkExceeded) return "its check takes too long; send fewer items or shorter texts";
  return error instanceof RangeError ? "it is nested too deeply" : undefined;
}

/**
 * Steps of one body: one for each keyword that is applied to a value, and more for what takes longer.
 * One takes 15 to 90 ns, and all of them took 10 to 40 ms, and 50 ms in the first second of a process.
 */
const stepsMax = 400_000;

/** A budget of steps, shared by all checks of one body. */
export class Work {
  #left: number;

  constructor(steps = stepsMax) {
    this.#left = steps;
  }

  spend(steps: number): void {
    this.#left -= steps;
    if (this.#left < 0) throw new WorkExceeded();
  }
}
