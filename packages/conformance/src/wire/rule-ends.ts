// Declares how a rule ends that does not hold, or that could not be checked.

/** A requirement that does not hold. The message says what was expected and what was received. */
export class RuleViolation extends Error {}

/** A create that was not accepted, or a Plant that is not the one that was created. */
export class PlantViolation extends RuleViolation {
  /** The fault of each plant: a plain create that fails blocks other rules. */
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
