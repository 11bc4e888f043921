// Formats the report for people: a block for each rule that does not hold, the other rules, then
// sums.

import type { RuleFailure } from "../failures/failure.ts";
import { type Basis, bases, describeRequirement } from "../rules/rule.ts";
import {
  type CollectionReport,
  type ConformanceReport,
  countOutcomes,
  type Outcome,
  type RuleResult,
} from "../run/run.ts";

const lineLength = 100;

/** Rules that are shown with their requests: nobody reads more at once. */
const blocksMax = 10;

/** Further cases of a rule that are named. */
const casesMax = 6;

/** The lines of a report of several collections, or of that of the only one. */
export function formatTextReports(all: readonly CollectionReport[]): string[] {
  const reports = all.flatMap((each) => ("report" in each ? [each.report] : []));
  const [first] = reports;
  if (all.length === 1 || first === undefined)
    return reports.flatMap((report) => [...titleLines(report), ...resultLines(report)]);
  const unchecked = all.flatMap((each) => ("report" in each ? [] : [each.name]));
  return [
    ...titleLines(first),
    ...(unchecked.length === 0
      ? []
      : [`${unchecked.length} of ${all.length} collections are not checked: ${unchecked.join(", ")}`]),
    ...all.flatMap((each) => [
      "",
      `${each.name}:`,
      ...("report" in each
        ? resultLines(each.report)
        : [`Not checked: ${"skipped" in each ? each.skipped : each.problem}`]),
    ]),
    "",
    `In all ${sumLine(
      reports.flatMap(({ results }) => results),
      reports.flatMap(({ leftOut }) => leftOut).length,
      reports.reduce((total, { durationMs }) => total + durationMs, 0),
    )}`,
  ];
}

function titleLines({ url, version, service, startedAt, seed }: ConformanceReport): string[] {
  return [`${service} conformance of ${url}`, `plantstore ${version}, ${startedAt}, --seed ${seed}`];
}

function resultLines({ results, leftOut, durationMs }: ConformanceReport): string[] {
  const ofBasis = (basis: Basis) => results.filter(({ rule }) => rule.basis === basis);
  const present = bases.filter((basis) => ofBasis(basis).length > 0);
  const failed = results.filter(({ outcome }) => outcome === "fails");
  return [
    "",
    ...failed.flatMap((result, index) => [
      `FAIL ${headline(result)}`,
      ...(index < blocksMax ? [...blockLines(result).map((line) => `  ${line}`.trimEnd()), ""] : []),
    ]),
    ...(failed.length > blocksMax ? [`--rule ${failed.at(-1)?.rule.id} shows its requests.`] : []),
    ...(["blocked", "skipped", "holds"] as const).flatMap((outcome) => otherLines(outcome, results)),
    ...groupedLines("n/a", leftOut),
    "",
    ...(present.length === 1 ? [] : present.map((basis) => `${basis}: ${sum(ofBasis(basis))}`)),
    sumLine(results, leftOut.length, durationMs),
  ];
}

function sumLine(results: readonly RuleResult[], leftOut: number, durationMs: number): string {
  const unfit = leftOut === 0 ? "" : `, ${leftOut} ${leftOut === 1 ? "does" : "do"} not apply`;
  return `${sum(results)}${unfit}, in ${(durationMs / 1_000).toFixed(1)} s`;
}

/** The rule, and its fault in words. */
function headline({ rule, failures }: RuleResult): string {
  const [first] = failures;
  return `${rule.id}: ${first === undefined ? "" : failureText(first)}`;
}

function failureText(failure: RuleFailure): string {
  return failure.case === undefined ? failure.message : `${failure.case}: ${failure.message}`;
}

/**
 * The lines below the headline: the rule, its further cases, and commands that repeat the fault.
 */
function blockLines({ rule, failures }: RuleResult): string[] {
  const [first, ...others] = failures;
  const { commands = [], response = "(nothing)" } = first ?? {};
  const isAlike = ({ message }: RuleFailure) => message === first?.message;
  const named = [...others.filter(isAlike), ...others.filter((each) => !isAlike(each))]
    .slice(0, casesMax)
    .map((failure) => (isAlike(failure) ? (failure.case ?? failure.message) : failureText(failure)));
  const more = others.length > casesMax ? ` and ${others.length - casesMax} more` : "";
  return [
    `${rule.title} ${describeRequirement(rule)}`,
    ...(others.length === 0 ? [] : [`Also: ${named.join("; ")}${more}`]),
    ...commands.map((command) => `$ ${command}`),
    `< ${response.slice(0, 2 * lineLength)}`,
  ];
}

const otherWords = { blocked: "blocked", skipped: "skip", holds: "ok" } as const;

function otherLines(outcome: Exclude<Outcome, "fails">, all: readonly RuleResult[]): string[] {
  const results = all.filter((result) => result.outcome === outcome);
  return groupedLines(
    otherWords[outcome],
    results.map(({ rule: { id }, reason }) => ({ id, reason })),
  );
}

/** Rules with one reason, on as few lines as they fill. */
function groupedLines(
  word: string,
  rules: readonly { readonly id: string; readonly reason: string | undefined }[],
): string[] {
  const reasons = new Set(rules.map(({ reason }) => reason));
  return [...reasons].flatMap((reason) => {
    const ids = rules.filter((rule) => rule.reason === reason).map(({ id }) => id);
    const note = reason === undefined ? [] : [`(${reason})`];
    const words = [...ids.map((id, index) => (index < ids.length - 1 ? `${id},` : id)), ...note];
    return wrap(words).map((line, index) => `${(index === 0 ? word : "").padEnd(8)}${line}`);
  });
}

function wrap(words: readonly string[]): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line === undefined || line.length + word.length >= lineLength - 8) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

/** Such as "16 of 20 rules hold, 1 does not, 1 was skipped". */
function sum(results: readonly RuleResult[]): string {
  const { rules, holds, fails, blocked, skipped } = countOutcomes(results);
  return [
    `${holds} of ${rules} rules hold`,
    `${fails} ${fails === 1 ? "does" : "do"} not`,
    ...(blocked === 0 ? [] : [`${blocked} ${blocked === 1 ? "is" : "are"} blocked`]),
    ...(skipped === 0 ? [] : [`${skipped} ${skipped === 1 ? "was" : "were"} skipped`]),
  ].join(", ");
}

/** The subject of each basis, for the line that says what a run has left out. */
const subjects: Readonly<Record<Basis, string>> = {
  contract: "what the contract says",
  standard: "forms of JSON and of header fields",
  decision: "retries (the same plant again, another one with its id), codes of errors",
};

/** The end of the report: what the bases of a run leave out. */
export function uncheckedLines(present: readonly Basis[]): string[] {
  const absent = bases.filter((basis) => !present.includes(basis));
  if (absent.length === 0) return [];
  return [`Not checked: ${absent.map((basis) => subjects[basis]).join("; ")}. --basis all checks them.`];
}
