// Defines errors that an operator can correct.

/** An error that a command prints as one line, without a stack. Its message contains what to do. */
export class OperatorError extends Error {
  /** 1: the command failed; 2: called incorrectly; 3: as the command documents it. */
  readonly exitCode: 1 | 2 | 3;

  constructor(message: string, exitCode: 1 | 2 | 3 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The message of what was thrown, which need not be an Error. */
export function errorMessage(error: unknown): string {
  // It has no message of its own: it holds the error of a block, and that of closing what the block
  // had opened. If a thread has ended, both are the same.
  if (error instanceof SuppressedError)
    return [...new Set([error.suppressed, error.error].map(errorMessage))].join("; ");
  return error instanceof Error ? error.message : String(error);
}
