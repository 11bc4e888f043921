// The report for people.

import { type Basis, bases, describeRequirement, type Level, levels, levelTitles } from "./rule.ts";
import {
  type Cause,
  type ConformanceReport,
  causesOf,
  conforms,
  countOutcomes,
  type Outcome,
  type RuleResult,
} from "./run.ts";
import type { RuleFailure } from "./transcript-text.ts";

/** ECMA-48, Select Graphic Rendition. */
const sgr = { bold: 1, red: 31, green: 32, yellow: 33 } as const;
type Colour = keyof typeof sgr;

export interface TextStyle {
  readonly colours: boolean;
}

/** How a rule is shown, and what comes before the reason. */
const outcomes: Readonly<Record<Outcome, readonly [word: string, colour: Colour, note: string]>> = {
  holds: ["ok", "green", "not checked: "],
  fails: ["FAIL", "red", ""],
  known: ["known", "yellow", "known failure: "],
  skipped: ["skip", "yellow", "skipped: "],
};

/** The lines of a report: every rule, each cause of failures with its requests, and the sums. */
export function formatTextReport(report: ConformanceReport, style: TextStyle): string[] {
  const { results, hints } = report;
  return [
    ...heading(report, style),
    ...levels.flatMap((level) => levelLines(level, results, style)),
    ...causesOf(results).flatMap((cause) => causeLines(cause, style)),
    ...hints.flatMap((hint) => [hint, ""]),
    ...sums(report, style),
  ];
}

function heading({ url, version, startedAt, ids }: ConformanceReport, style: TextStyle): string[] {
  const ranges = ids.map(({ from, to }) => `${from} to ${to}`);
  return [
    paint(`Plant Store conformance of ${url}`, "bold", style),
    `plantstore ${version}, ${startedAt}`,
    `Ids of this run: ${ranges.join(", ")}, 0, and the limits of int64`,
    "",
  ];
}

function levelLines(level: Level, all: readonly RuleResult[], style: TextStyle): string[] {
  const results = all.filter(({ rule }) => rule.level === level);
  if (results.length === 0) return [];
  const { holds, rules } = countOutcomes(results);
  const width = Math.max(...results.map(({ rule }) => rule.id.length));
  return [
    paint(`${levelTitles[level]} (${level}: ${holds} of ${rules} hold)`, "bold", style),
    ...results.map(({ rule, outcome, reason }) => {
      const [word, colour, before] = outcomes[outcome];
      const note = reason === undefined ? "" : `  (${before}${reason})`;
      return `  ${paint(word.padEnd(5), colour, style)}  ${rule.id.padEnd(width)}  ${rule.title}${note}`;
    }),
    "",
  ];
}

function causeLines({ message, first, rules }: Cause, style: TextStyle): string[] {
  const { rule, failure } = first;
  const all = Array.from(rules, ([{ id }, cases]) => {
    const labels = cases.filter((label) => label !== undefined);
    return labels.length === 0 ? id : `${id} (${labels.join("; ")})`;
  });
  const isAlone = rules.size === 1 && rules.get(rule)?.length === 1;
  const count = rules.size === 1 ? "" : ` (${rules.size} rules)`;
  return [
    `${paint("FAIL", "red", style)} ${paint(`${message}${count}`, "bold", style)}`,
    ...(isAlone ? [] : [...all.map((text) => `  ${text}`), ""]),
    `  ${rule.id}: ${rule.title}`,
    `  ${describeRequirement(rule)}`,
    ...failureLines(failure).map((line) => `  ${line}`.trimEnd()),
    "",
  ];
}

/** The lines of one failure: the case, the message, and what was sent (>) and received (<). */
export function failureLines({ case: label, message, requests, omitted }: RuleFailure): string[] {
  return [
    label === undefined ? message : `${label}: ${message}`,
    ...(omitted === 0 ? [] : [`  (after ${omitted} earlier ${omitted === 1 ? "request" : "requests"})`]),
    ...requests.flatMap(requestLines),
  ];
}

function requestLines({ sent, received, problem }: RuleFailure["requests"][number]): string[] {
  const nothing = problem === undefined ? "(nothing)" : `(nothing: ${problem})`;
  return [
    ...sent.map((line) => `  > ${line}`),
    ...(received.length === 0 ? [nothing] : received).map((line) => `  < ${line}`),
  ];
}

/** A line for each basis, and one for all rules. */
function sums(report: ConformanceReport, style: TextStyle): string[] {
  const { results, durationMs } = report;
  const ofBasis = (basis: Basis) => results.filter(({ rule }) => rule.basis === basis);
  const present = bases.filter((basis) => ofBasis(basis).length > 0);
  const seconds = (durationMs / 1_000).toFixed(1);
  return [
    ...(present.length === 1 ? [] : present.map((basis) => `${basis}: ${sum(ofBasis(basis))}`)),
    paint(`${sum(results)}, in ${seconds} s`, conforms(report) ? "green" : "red", style),
  ];
}

/** Such as "16 of 20 rules hold, 1 does not, 2 are known not to, 1 was skipped". */
function sum(results: readonly RuleResult[]): string {
  const { rules, holds, fails, known, skipped } = countOutcomes(results);
  return [
    `${holds} of ${rules} rules hold`,
    `${fails} ${fails === 1 ? "does" : "do"} not`,
    ...(known === 0 ? [] : [`${known} ${known === 1 ? "is" : "are"} known not to`]),
    ...(skipped === 0 ? [] : [`${skipped} ${skipped === 1 ? "was" : "were"} skipped`]),
  ].join(", ");
}

function paint(text: string, colour: Colour, style: TextStyle): string {
  return style.colours ? `\x1b[${sgr[colour]}m${text}\x1b[0m` : text;
}
