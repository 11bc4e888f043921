// Declares the errors that calls of a sandbox throw.

/** The base class of all of them. */
export class SandboxError extends Error {
  override readonly name: string = "SandboxError";
}

/** The sandbox did not start. `message` is the command's own line, which says what to do. */
export class SandboxStartError extends SandboxError {
  override readonly name = "SandboxStartError";
  /** The end of what the command wrote to its standard error. */
  readonly output: string;

  constructor(message: string, output = "") {
    super(message);
    this.output = output;
  }
}

/** The control interface rejected a call. `message` is its reason. */
export class SandboxControlError extends SandboxError {
  override readonly name = "SandboxControlError";
  /** The HTTP status of the response. */
  readonly status: number;

  constructor(message: string, status: number) {
    super(message);
    this.status = status;
  }
}

/** A call to a sandbox that has ended: it was closed, or its process was killed. */
export class SandboxEndedError extends SandboxError {
  override readonly name = "SandboxEndedError";
}
