// Checks the cases of a rule one after another, and collects what they have shown.

import type { RuleFailure } from "../failures/failure.ts";
import type { HttpResponse } from "../wire/exchange.ts";
import { PlantViolation, RuleBlocked, RuleSkipped, RuleViolation } from "../wire/rule-ends.ts";
import type { RunState } from "./run-state.ts";
import { TestClient } from "./test-client.ts";

/** The rule of plain creates. */
const plainRule = "contract.create";

/** Sends a request that is accepted if nothing but the fault of a case is wrong with it. */
type Control = () => Promise<HttpResponse>;

/** Ends a rule after this many requests without a response, as each takes the time limit. */
const unansweredInRuleMax = 2;

export class RuleCases extends TestClient {
  readonly failures: RuleFailure[] = [];
  /** Reasons why cases could not be checked, each with its cases. */
  readonly undecided = new Map<string, string[]>();
  isBlocked = false;
  /** The number of cases that were checked and hold. */
  heldCases = 0;
  readonly #ruleId: string;
  #cases = 0;

  constructor(state: RunState, ruleId: string) {
    super(state);
    this.#ruleId = ruleId;
  }

  /**
   * Checks one case of a rule, or the rule as a whole. A violation is reported, and does not
   * prevent the other cases. A case that ends with a rejection holds only if the control is
   * accepted: a server may reject everything.
   */
  async case(
    label: string | undefined,
    check: () => Promise<unknown>,
    control: Control = () => this.create(this.plant()),
  ): Promise<void> {
    const number = ++this.#cases;
    this.forget();
    try {
      await check();
      // The rule has cases, which were counted one by one.
      if (this.#cases > number) return;
      if (this.hasOnlyRejections) await this.#expectControl(control);
      this.heldCases++;
    } catch (error) {
      this.#endWith(error, label);
    }
    this.forget();
  }

  #endWith(error: unknown, label: string | undefined): void {
    const { plainFaults, unanswered } = this.state;
    const isBlocked =
      error instanceof PlantViolation && plainFaults.has(error.fault) && this.#ruleId !== plainRule;
    const end = isBlocked ? new RuleBlocked(`blocked by ${plainRule}`) : error;
    if (end instanceof RuleSkipped) {
      const labels = label === undefined ? [] : [label];
      this.undecided.set(end.message, [...(this.undecided.get(end.message) ?? []), ...labels]);
      this.isBlocked ||= end instanceof RuleBlocked;
      return;
    }
    if (!(end instanceof RuleViolation)) throw end;
    const failure = this.describe(end, label);
    // A case of the rule has already reported it.
    if (label === undefined && this.failures.at(-1)?.message === failure.message) return;
    this.failures.push(failure);
    if (label !== undefined && unanswered >= unansweredInRuleMax) throw end;
  }

  async #expectControl(control: Control): Promise<void> {
    const received = await control().then(
      ({ status }) => (status >= 200 && status < 300 ? undefined : `received the status ${status}`),
      (error) => {
        if (error instanceof RuleViolation) return error.message;
        throw error;
      },
    );
    if (received !== undefined)
      throw new RuleBlocked(`blocked: the same request without the fault is rejected, too: ${received}`);
  }

  /** Checks a case of a rule for each value, labelled with its name. */
  async cases<T>(
    values: Readonly<Record<string, T>>,
    check: (value: T) => Promise<unknown>,
    control?: Control,
  ): Promise<void> {
    for (const [label, value] of Object.entries(values)) await this.case(label, () => check(value), control);
  }

  /** Checks a case of a rule for each value, labelled with it. */
  each<T extends string | null>(
    values: readonly T[],
    check: (value: T) => Promise<unknown>,
    control?: Control,
  ): Promise<void> {
    const shown = (value: string) => (value.length > 40 ? `${value.slice(0, 40)}…` : value);
    const labelled = values.map((value) => [shown(value ?? "none"), value]);
    return this.cases(Object.fromEntries(labelled), check, control);
  }
}
