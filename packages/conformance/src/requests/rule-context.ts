// Gives a rule what it needs to run: ids and plants, creates, checks of their responses, and cases, of
// which it collects what they have shown.

import type { ErrorCode } from "../../../../src/base/errors.ts";
import type { RuleFailure } from "../failures/failure.ts";
import type { HttpResponse, RequestParts } from "../wire/exchange.ts";
import { PlantViolation, RuleBlocked, RuleSkipped, RuleViolation } from "../wire/rule-ends.ts";
import { learnConflict } from "./conflict.ts";
import { newId } from "./contents.ts";
import {
  type ErrorFields,
  expectClientError,
  expectError,
  expectPlant,
  expectReturnedId,
  expectThat,
  type PlantFields,
} from "./expectations.ts";
import type { Conflict, RunState } from "./run-state.ts";
import { TestClient } from "./test-client.ts";

/** The rule of plain creates. */
const plainRule = "contract.create";

/** Sends a request that is accepted if nothing but the fault of a case is wrong with it. */
type Control = () => Promise<HttpResponse>;

/** Ends a rule after this many requests without a response, as each takes the time limit. */
const unansweredInRuleMax = 2;

export class RuleContext extends TestClient {
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

  /** The length of a long text, and the levels of deep nesting, in a body below the limit. */
  get longLength(): number {
    return Math.min(100_000, Math.trunc(this.target.bodyBytesMax / 4));
  }

  idGroup(): readonly [bigint, bigint, bigint] {
    return this.state.ids.nextGroup();
  }

  distance(): bigint {
    return this.state.ids.nextDistance();
  }

  /** A plant as JSON with a new id, in as many bytes. */
  plantOfLength(bytes: number): { readonly body: string; readonly name: string } {
    const id = this.id();
    const name = "x".repeat(bytes - this.contents.plantJson(id, "").length);
    if (this.contents.takesTitle(name)) return { body: this.contents.plantJson(id, name), name };
    // A shorter title, and white space.
    return { body: this.contents.plantJson(id, "Monstera").padEnd(bytes), name: "Monstera" };
  }

  /** A text with a new id in place of `newId`. */
  withNewId(text: string): string {
    return text.replaceAll(newId, String(this.contents.idOfNumber(this.id())));
  }

  /** Keeps a text that was made of the token out of the report, also in percent-encoding. */
  secret(text: string): string {
    this.state.secrets.add(text).add(encodeURIComponent(text));
    return text;
  }

  /**
   * Whether a response says that an id is taken by another plant. A server shows how it says so in
   * a response of the run; undefined if it cannot be told from the response to a body that is
   * invalid.
   */
  async isTaken(response: HttpResponse): Promise<boolean | undefined> {
    if (!this.contents.sendsIds) return false;
    return (await this.#conflict()).recognize(response);
  }

  /**
   * Skips a rule that tells two ids apart by creating a plant with each: a server that accepts any
   * number of plants with one id would pass it.
   */
  async skipUnlessConflicts(): Promise<void> {
    if ((await this.#conflict()).isAccepted)
      throw new RuleSkipped(
        "the server accepts another plant with an id that is taken, which --rule idempotence judges",
      );
  }

  async #conflict(): Promise<Conflict> {
    this.state.conflict ??= await learnConflict(new TestClient(this.state));
    return this.state.conflict;
  }

  /** Sends a body that must be accepted as this plant. */
  async expectCreated(body: string | Uint8Array, plant: PlantFields): Promise<void> {
    expectPlant(this.contents, await this.create(body), plant);
  }

  /** Creates a plant, which must be accepted. */
  async expectPlant(id: bigint, name: string, tag?: string, rejected?: string): Promise<HttpResponse> {
    const response = await this.create(this.contents.plantJson(id, name, tag));
    expectPlant(this.contents, response, { name, tag }, rejected);
    expectReturnedId(this.contents, response, id);
    return response;
  }

  /** Creates another plant, which must be accepted with these header fields. */
  async expectMonstera(headers: RequestParts["headers"]): Promise<void> {
    expectPlant(this.contents, await this.create(this.plant(), headers), { name: "Monstera" });
  }

  /**
   * Sends a body that must be rejected for what it is, and not because its id was changed to one
   * that is taken. Returns false if that is certain.
   */
  async expectInvalid(body: string): Promise<false | undefined> {
    const response = await this.create(body);
    expectClientError(response);
    const isTaken = await this.isTaken(response);
    expectThat(isTaken !== true, "expected the body to be rejected; its id was changed to one that is taken");
    return isTaken;
  }

  /**
   * Does the same for a body without a number as its id, which may be taken for 0 or 1. It is sent
   * twice: by then such an id is taken, so that every run gets the same response.
   */
  async expectInvalidWithoutId(body: string): Promise<void> {
    await this.create(body);
    if ((await this.expectInvalid(body)) === undefined) throw new RuleSkipped(takenOrRejected);
  }

  async expectRejected(body: string | Uint8Array, code: ErrorCode): Promise<ErrorFields> {
    return expectError(this.contents, await this.create(body), code);
  }
}

/** Why a rule cannot be checked on a server that responds to both alike. */
export const takenOrRejected = "an id that is taken cannot be told from one that is rejected";
