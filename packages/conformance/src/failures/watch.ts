// Checks a requirement on every response of a run, whichever rule caused it, and keeps what fails.

import type { HttpResponse, RequestParts } from "../wire/exchange.ts";
import { RuleViolation } from "../wire/rule-ends.ts";
import type { RuleFailure } from "./failure.ts";

/** A requirement on every response of a run. */
export interface ResponseCheck {
  readonly concerns: (response: HttpResponse, request: RequestParts) => boolean;
  /** Throws a RuleViolation. */
  readonly expect: (response: HttpResponse, request: RequestParts) => void;
}

/** Different failures of a requirement that are kept. */
const failuresMax = 3;

/** Checks a requirement on every response, and keeps the results. */
export class Watch {
  /** The rule of the requirement. */
  readonly ruleId: string;
  readonly #check: ResponseCheck;
  /** The number of responses that it concerned. */
  responses = 0;
  /** The first failure with each message. */
  readonly failures = new Map<string, RuleFailure>();

  constructor(ruleId: string, check: ResponseCheck) {
    this.ruleId = ruleId;
    this.#check = check;
  }

  observe(
    response: HttpResponse,
    request: RequestParts,
    describe: (violation: RuleViolation) => RuleFailure,
  ): void {
    if (!this.#check.concerns(response, request)) return;
    this.responses++;
    try {
      this.#check.expect(response, request);
    } catch (error) {
      if (!(error instanceof RuleViolation)) throw error;
      const { failures } = this;
      if (failures.size < failuresMax && !failures.has(error.message))
        failures.set(error.message, describe(error));
    }
  }
}
