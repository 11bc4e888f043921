// What the operator did, or met, that a command cannot go on with.

/** An error that a command reports in one line, without a stack. Its message says what to do. */
export class OperatorError extends Error {
  /** 1 where the command failed, 2 where it was called wrongly. */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}
