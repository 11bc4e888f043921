// Runs rules against a server, one after another, and collects their results.

import { version } from "../../../../package.json";
import type { RuleFailure } from "../failures/failure.ts";
import { reportText } from "../failures/transcript-text.ts";
import { Watch } from "../failures/watch.ts";
import { IdSource } from "../plants/ids.ts";
import type { Contents } from "../requests/contents.ts";
import { DescribedResponses } from "../requests/described-responses.ts";
import { createdId, expectPlant } from "../requests/expectations.ts";
import { RuleContext } from "../requests/rule-context.ts";
import type { RunState, Target } from "../requests/run-state.ts";
import { TestClient } from "../requests/test-client.ts";
import type { ConformanceRule } from "../rules/rule.ts";
import type { HttpResponse } from "../wire/exchange.ts";
import { PlantViolation, RuleSkipped, RuleViolation } from "../wire/rule-ends.ts";
import { checkable } from "./checked-collections.ts";

export type Outcome = "holds" | "fails" | "blocked" | "skipped";

export interface RuleResult {
  readonly rule: ConformanceRule;
  readonly outcome: Outcome;
  /** Why it was not checked, or not in all cases. */
  readonly reason: string | undefined;
  /** Empty unless it fails. */
  readonly failures: readonly RuleFailure[];
}

/** No text of it contains a secret or a control character. */
export interface ConformanceReport {
  readonly url: string;
  readonly version: string;
  readonly seed: number;
  /** ISO 8601. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly results: readonly RuleResult[];
  /** The service of the contract, such as "Plant Store". */
  readonly service: string;
  /** Rules that do not apply to the contract. */
  readonly leftOut: readonly { readonly id: string; readonly reason: string }[];
}

/** The results of a collection, or why the rules do not fit it, or cannot be judged. */
export type CollectionReport = { readonly name: string } & (
  | { readonly report: ConformanceReport }
  | { readonly skipped: string }
  | PreflightProblem
);

export interface RunOptions {
  readonly contents: Contents;
  readonly target: Target;
  /** Unfit rules are not checked; the report names them. */
  readonly rules: readonly ConformanceRule[];
  /** Time to connect, and for each response, in milliseconds. */
  readonly timeoutMs: number;
  /** Chooses the ids. */
  readonly seed: number;
}

/** Why no rule of a server can be judged. */
export interface PreflightProblem {
  readonly problem: string;
}

/** Responses that are longer than what a create may return are a problem. */
const responseBytesMin = 2 ** 20;

/** Never rejects because of what the server does. */
export async function runConformance(options: RunOptions): Promise<ConformanceReport | PreflightProblem> {
  const { contents, target, timeoutMs, seed } = options;
  contents.described ??= await DescribedResponses.read(contents);
  const rules = options.rules.filter(({ unfit }) => unfit === undefined);
  const watches = rules.flatMap(({ id, every }) => (every === undefined ? [] : [new Watch(id, every)]));
  const state: RunState = {
    contents,
    target,
    // JSON may escape each byte as six.
    limits: { timeoutMs, responseBytesMax: responseBytesMin + 6 * target.bodyBytesMax },
    ids: new IdSource(seed, contents.idLimits),
    unanswered: 0,
    secrets: new Set([target.token, encodeURIComponent(target.token)]),
    watches,
    plainFaults: new Set(),
    conflict: undefined,
  };
  const startedAt = Date.now();
  await findBasePath(state);
  await createReferenced(state, (seed + 1) % 2 ** 32);
  const problem = await preflight(state);
  if (problem !== undefined) return { problem: reportText(problem, state.secrets) };
  const ran: RuleResult[] = [];
  let gone: string | undefined;
  for (const rule of rules) {
    gone ??= await findGone(ran.at(-1), state);
    ran.push(
      gone === undefined
        ? await runRule(rule, state)
        : { rule, outcome: "blocked", reason: gone, failures: [] },
    );
  }
  const results = ran.map((result) =>
    withWatch(
      result,
      watches.find(({ ruleId }) => ruleId === result.rule.id),
    ),
  );
  return {
    url: reportText(target.url.href.replace(/\/$/, ""), state.secrets),
    version,
    service: contents.contract.service,
    leftOut: options.rules.flatMap(({ id, unfit }) => (unfit === undefined ? [] : [{ id, reason: unfit }])),
    seed,
    results,
    startedAt: new Date(startedAt).toISOString(),
    durationMs: Date.now() - startedAt,
  };
}

/** Resources that refer to each other in a row; they may do so in a circle. */
const referencesMax = 5;

/** Where the URL is that of a host, the contract may say where the service is. */
async function findBasePath(state: RunState): Promise<void> {
  const { url } = state.target;
  const { basePath } = state.contents.contract;
  if (url.pathname !== "/" || basePath === "") return;
  for (const path of ["/", basePath, "/"]) {
    url.pathname = path;
    const client = new TestClient(state);
    // A body that stores nothing where a member is required: routes are found before bodies are judged.
    const status = await statusOrNone(client.create("{}"));
    if (status !== 404 && status !== 405) return;
  }
}

/** The status of a response; undefined where there is none, which the preflight reports. */
async function statusOrNone(sending: Promise<HttpResponse>): Promise<number | undefined> {
  try {
    return (await sending).status;
  } catch (error) {
    if (error instanceof RuleSkipped || error instanceof RuleViolation) return undefined;
    throw error;
  }
}

/**
 * Creates a resource of each collection that the fields refer to, and what that refers to. A server
 * that takes none is left with ids that are made up.
 *
 * @param seed chooses other ids than those of the run, which may check these collections, too.
 * @param depth how many resources refer to each other until here; only the first one is sent whole.
 */
async function createReferenced(state: RunState, seed: number, depth = 0): Promise<void> {
  const { contents } = state;
  if (depth === referencesMax) return;
  for (const [field, collection] of contents.references) {
    if (!field.isRequired && depth > 0) continue;
    const other = checkable(contents.contract, collection);
    if ("skipped" in other || collection === contents.collection) continue;
    const ids = new IdSource(seed, other.contents.idLimits);
    const own: RunState = { ...state, contents: other.contents, ids, watches: [] };
    await createReferenced(own, (seed + 1) % 2 ** 32, depth + 1);
    const client = new TestClient(own);
    try {
      contents.refer(
        field,
        decodeURIComponent(createdId(other.contents, await client.create(client.plant()))),
      );
    } catch (error) {
      if (!(error instanceof RuleSkipped || error instanceof RuleViolation)) throw error;
    }
  }
}

/**
 * Creates two plants. Returns why that is impossible, and else remembers what is wrong with the
 * responses: a rule that builds on plain creates cannot be judged where they go wrong.
 */
async function preflight(state: RunState): Promise<string | undefined> {
  const client = new TestClient(state);
  for (const tag of [undefined, "preflight"]) {
    const id = client.id();
    const name = `preflight ${id % 1_000n}`;
    const body = state.contents.plantJson(id, name, tag);
    try {
      let response = await client.create(body);
      if (response.status >= 500) response = await client.create(body);
      if (tag === undefined && response.status >= 300) return describeRejection(response, state);
      expectPlant(state.contents, response, { name, tag });
    } catch (error) {
      if (error instanceof PlantViolation) state.plainFaults.add(error.fault);
      else if (error instanceof RuleSkipped || (tag === undefined && error instanceof RuleViolation))
        return error.message;
      else if (!(error instanceof RuleViolation)) throw error;
    }
  }
  return undefined;
}

function describeRejection({ status, body }: HttpResponse, { target: { url }, contents }: RunState): string {
  const { path, words } = contents.collection;
  const got = `POST ${url.pathname.replace(/\/$/, "")}${path} with a valid ${words.one} got ${status}`;
  if (status === 401 || status === 403) return `--token looks wrong: ${got}`;
  if (url.pathname.replace(/\/$/, "").endsWith(path))
    return `--url looks wrong: it ends in ${path}, which is appended: ${got}`;
  if (status === 404 || status === 405) return `--url looks wrong: ${got}`;
  const text = Buffer.from(body.subarray(0, 200)).toString("utf8");
  return `no rule can be judged: ${got} ${text}`.trimEnd();
}

/** After so many requests without a response, a create shows whether the server still responds. */
const unansweredMax = 5;

/** Why no further rule can be judged: a rule has left the server unable to create a plant. */
async function findGone(last: RuleResult | undefined, state: RunState): Promise<string | undefined> {
  if (last === undefined || state.unanswered < unansweredMax) return undefined;
  const client = new TestClient(state);
  try {
    const { status } = await client.create(client.plant());
    return status < 500 ? undefined : `blocked: since ${last.rule.id} a valid plant gets ${status}`;
  } catch (error) {
    if (error instanceof RuleSkipped) return undefined;
    if (!(error instanceof RuleViolation)) throw error;
    return `blocked: since ${last.rule.id} a valid plant gets no response`;
  }
}

async function runRule(rule: ConformanceRule, state: RunState): Promise<RuleResult> {
  const context = new RuleContext(state, rule.id);
  await context.case(undefined, () => rule.run(context));
  const { failures, heldCases, isBlocked, undecided } = context;
  const isWhole = heldCases === 0 && undecided.size === 1;
  const reasons = Array.from(undecided, ([why, cases]) =>
    cases.length === 0 || isWhole ? why : `${why} (${cases.join("; ")})`,
  );
  // If some cases hold and none fails, the rule holds as far as it can be checked.
  const isChecked = reasons.length === 0 || heldCases > 0;
  const unchecked = isBlocked ? "blocked" : "skipped";
  return {
    rule,
    outcome: failures.length > 0 ? "fails" : isChecked ? "holds" : unchecked,
    reason: reasons.length === 0 ? undefined : reportText(reasons.join("; "), state.secrets),
    failures,
  };
}

/** Adds what the responses of all rules have shown. */
function withWatch(result: RuleResult, watch: Watch | undefined): RuleResult {
  if (watch === undefined) return result;
  const failures = [...result.failures, ...watch.failures.values()];
  if (failures.length > 0) return { ...result, outcome: "fails", failures };
  if (watch.responses > 0) return { ...result, outcome: "holds" };
  const reason = result.reason ?? "the run got no response that the rule is about";
  return { ...result, outcome: "skipped", reason };
}

export function countOutcomes(results: readonly RuleResult[]): Readonly<Record<Outcome | "rules", number>> {
  const counts = { rules: results.length, holds: 0, fails: 0, blocked: 0, skipped: 0 };
  for (const { outcome } of results) counts[outcome]++;
  return counts;
}

/** Whether no rule fails or is blocked, and at least one was checked. */
export function conforms({ results }: Pick<ConformanceReport, "results">): boolean {
  const { rules, fails, blocked, skipped } = countOutcomes(results);
  return fails + blocked === 0 && skipped < rules;
}

/** Whether a server conforms in all collections that the rules fit. */
export function conformsInAll(all: readonly CollectionReport[]): boolean {
  return all.every((each) => "skipped" in each || ("report" in each && conforms(each.report)));
}
