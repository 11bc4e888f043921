// Runs rules against a server, one after another, and collects their results.

import { setTimeout as wait } from "node:timers/promises";
import { version } from "../../package.json";
import { Connection, type ConnectionLimits } from "./connection.ts";
import { busyRetriesMax, RuleContext, type RunState, retryMsMax, type Target } from "./context.ts";
import { rejectedMessage } from "./expectations.ts";
import { type IdRange, IdSource, plantJson } from "./ids.ts";
import type { Rule } from "./rule.ts";
import { RuleBusy, RuleSkipped, RuleViolation } from "./rule-ends.ts";
import { type RuleFailure, reportText } from "./transcript-text.ts";

/** A rule that fails, and is in the baseline, is a known failure. */
export type Outcome = "holds" | "fails" | "known" | "skipped";

export interface RuleResult {
  readonly rule: Rule;
  readonly outcome: Outcome;
  readonly durationMs: number;
  /** Why it was skipped, is a known failure, or was not checked in all cases. */
  readonly reason: string | undefined;
  /** Empty unless it fails, known or not. */
  readonly failures: readonly RuleFailure[];
}

/** No text of it contains a secret or a control character. */
export interface ConformanceReport {
  readonly url: string;
  readonly version: string;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly ids: readonly IdRange[];
  readonly results: readonly RuleResult[];
  /** Advice that concerns several rules. */
  readonly hints: readonly string[];
}

export interface RunOptions {
  readonly target: Target;
  readonly rules: readonly Rule[];
  /** Rules that are known to fail, by their ids, with the reasons. */
  readonly baseline: ReadonlyMap<string, string>;
  /** Time to connect, and for each response, in milliseconds. */
  readonly timeoutMs: number;
  /** Called before each rule with the number of those before it. */
  readonly onRule?: ((rule: Rule, index: number) => void) | undefined;
}

/** Responses that are longer than what a create may return are a problem. */
const responseBytesMin = 2 ** 20;

/** Connects once. Returns why that is impossible; undefined if it is possible. */
export async function findConnectionProblem(target: Target, timeoutMs: number): Promise<string | undefined> {
  const connection = await Connection.open(target, { timeoutMs, responseBytesMax: 0 });
  if ("problem" in connection) return connection.problem;
  connection.close();
  return undefined;
}

/** Never rejects because of what the server does. */
export async function runConformance(options: RunOptions): Promise<ConformanceReport> {
  const { target, rules, baseline, timeoutMs, onRule } = options;
  const limits: ConnectionLimits = {
    timeoutMs,
    // JSON may escape each byte as six.
    responseBytesMax: responseBytesMin + 6 * target.bodyBytesMax,
  };
  const state: RunState = {
    target,
    limits,
    ids: new IdSource(),
    unanswered: 0,
    secrets: new Set([target.token, encodeURIComponent(target.token)]),
    observed: new Map(),
    conflict: undefined,
  };
  const startedAt = Date.now();
  const results: RuleResult[] = [];
  let hasGone = false;
  for (const [index, rule] of rules.entries()) {
    onRule?.(rule, index);
    hasGone ||= await isGone(state);
    results.push(hasGone ? notRun(rule, state) : withBaseline(await runRule(rule, state), baseline));
  }
  return {
    url: reportText(target.url.href.replace(/\/$/, ""), state.secrets),
    version,
    ids: state.ids.ranges,
    results,
    startedAt: new Date(startedAt).toISOString(),
    durationMs: Date.now() - startedAt,
    hints: baselineHints(results, baseline),
  };
}

/** After so many requests without a response, a create shows whether the server still responds. */
const unansweredMax = 5;

async function isGone(state: RunState): Promise<boolean> {
  if (state.unanswered < unansweredMax) return false;
  const context = new RuleContext(state);
  try {
    await context.create(plantJson(context.id(), "Monstera"));
    return false;
  } catch (error) {
    if (error instanceof RuleViolation) return true;
    if (error instanceof RuleSkipped) return false;
    throw error;
  }
}

function notRun(rule: Rule, { unanswered }: RunState): RuleResult {
  const reason = `not checked: the last ${unanswered} requests got no response`;
  return { rule, outcome: "skipped", durationMs: 0, reason, failures: [] };
}

async function runRule(rule: Rule, state: RunState, retries = 0): Promise<RuleResult> {
  const context = new RuleContext(state);
  const startedAt = Date.now();
  let reason: string | undefined;
  try {
    await rule.run(context);
  } catch (error) {
    if (error instanceof RuleBusy && error.retryAfterMs <= retryMsMax && retries < busyRetriesMax) {
      await wait(error.retryAfterMs);
      return runRule(rule, state, retries + 1);
    }
    if (error instanceof RuleSkipped) reason = error.message;
    else if (error instanceof RuleViolation) context.addFailure(error);
    else throw error;
  }
  const { failures, undecided, heldCases } = context;
  // If some cases hold and none fails, the rule holds as far as it can be checked.
  if (reason === undefined && undecided.size > 0)
    reason = Array.from(undecided, ([why, cases]) => `${why} (${cases.join("; ")})`).join("; ");
  const isSkipped = reason !== undefined && (undecided.size === 0 || heldCases === 0);
  const outcome = failures.length > 0 ? "fails" : isSkipped ? "skipped" : "holds";
  return {
    rule,
    outcome,
    durationMs: Date.now() - startedAt,
    reason: reason && reportText(reason, state.secrets),
    failures,
  };
}

function withBaseline(result: RuleResult, baseline: ReadonlyMap<string, string>): RuleResult {
  const reason = baseline.get(result.rule.id);
  return result.outcome === "fails" && reason !== undefined
    ? { ...result, outcome: "known", reason }
    : result;
}

function baselineHints(results: readonly RuleResult[], baseline: ReadonlyMap<string, string>): string[] {
  const held = results.filter(({ rule, outcome }) => outcome === "holds" && baseline.has(rule.id));
  if (held.length === 0) return [];
  const ids = held.map(({ rule }) => rule.id).join(", ");
  return [`The baseline names rules that hold; remove them from it: ${ids}`];
}

export function countOutcomes(results: readonly RuleResult[]): Readonly<Record<Outcome | "rules", number>> {
  const counts = { rules: results.length, holds: 0, fails: 0, known: 0, skipped: 0 };
  for (const { outcome } of results) counts[outcome]++;
  return counts;
}

/** Whether no rule fails that is not known to, and at least one was checked. */
export function conforms({ results }: Pick<ConformanceReport, "results">): boolean {
  const { rules, fails, skipped } = countOutcomes(results);
  return fails === 0 && skipped < rules;
}

/** Failures with one message, and one reason of the server, which have one cause. */
export interface Cause {
  readonly message: string;
  /** The first of them, whose requests are reported. */
  readonly first: { readonly rule: Rule; readonly failure: RuleFailure };
  /** The rules that fail with it, each with its cases. */
  readonly rules: ReadonlyMap<Rule, readonly (string | undefined)[]>;
}

/**
 * The message of a failure, and of a request that was rejected the reason that the server gives.
 * Words with a digit are left out: ids and sizes of chunks differ from response to response.
 */
function causeKey({ message, requests }: RuleFailure): string {
  if (!message.startsWith(rejectedMessage)) return message;
  const { received = [] } = requests.at(-1) ?? {};
  const body = received.slice(received.indexOf("") + 1).join("\n");
  const reason = body.replaceAll(/^[\da-f]+$/gm, "").replaceAll(/[\w-]*\d[\w-]*/g, "");
  return `${message}\n${reason}`;
}

/** Groups failures by their causes: that of most rules first, then in the order of the rules. */
export function causesOf(results: readonly RuleResult[]): readonly Cause[] {
  const causes = new Map<string, Cause & { readonly rules: Map<Rule, (string | undefined)[]> }>();
  for (const { rule, outcome, failures } of results) {
    if (outcome !== "fails") continue;
    for (const failure of failures) {
      const { message, case: label } = failure;
      const key = causeKey(failure);
      const cause = causes.get(key) ?? { message, first: { rule, failure }, rules: new Map() };
      causes.set(key, cause);
      cause.rules.set(rule, [...(cause.rules.get(rule) ?? []), label]);
    }
  }
  return [...causes.values()].toSorted((one, other) => other.rules.size - one.rules.size);
}
