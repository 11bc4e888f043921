// The ways in which a rule ends that does not hold, or that could not be checked.

/** A requirement that does not hold. The message says what was expected and what was received. */
export class RuleViolation extends Error {}

/** A create that was not accepted, or a Plant that is not the one that was created. */
export class PlantViolation extends RuleViolation {
  /** What went wrong with which plants: a plain create that goes wrong so blocks other rules. */
  readonly fault: string;

  constructor(message: string, fault: string) {
    super(message);
    this.fault = fault;
  }
}

/** A rule that this server, or this run, gives no way to check. The message is the reason. */
export class RuleSkipped extends Error {}

/** A rule that cannot be judged because of a fault elsewhere: the message says by what. */
export class RuleBlocked extends RuleSkipped {}

/** A rule during which the server responded with 429 or 503: it can be run again after a time. */
export class RuleBusy extends RuleSkipped {
  /** Milliseconds. */
  readonly retryAfterMs: number;

  constructor(status: number, retryAfterMs: number) {
    super(
      status === 429
        ? "the server limits the rate: it responded with 429"
        : "the server is overloaded: it responded with 503",
    );
    this.retryAfterMs = retryAfterMs;
  }
}
