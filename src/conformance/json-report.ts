// The report as JSON, for programs.

import type { RuleFailure } from "./context.ts";
import { bases, describeSource, levels } from "./rule.ts";
import { type ConformanceReport, causesOf, conforms, countOutcomes, type RuleResult } from "./run.ts";
import { reportText, transcriptLines } from "./transcript-text.ts";

/** Raised when a member changes its meaning or is removed. */
const formatVersion = 2;

/**
 * The report as a JSON document. Ids are strings: many readers of JSON lose the digits of a number.
 */
export function formatJsonReport(report: ConformanceReport): string {
  const { url, version, startedAt, durationMs, ids, results, hints, secrets } = report;
  const document = {
    formatVersion,
    tool: { name: "plantstore", version },
    url: reportText(url, secrets),
    startedAt,
    durationMs,
    conforms: conforms(report),
    ids: ids.map(({ from, to }) => ({ from: String(from), to: String(to) })),
    summary: countOutcomes(results),
    bases: Object.fromEntries(
      bases.map((basis) => [basis, countOutcomes(results.filter(({ rule }) => rule.basis === basis))]),
    ),
    levels: Object.fromEntries(
      levels.map((level) => [level, countOutcomes(results.filter(({ rule }) => rule.level === level))]),
    ),
    hints,
    causes: causesOf(results).map(({ message, rules }) => ({
      message: reportText(message, secrets),
      rules: Array.from(rules.keys(), ({ id }) => id),
    })),
    rules: results.map((result) => toJson(result, secrets)),
  };
  return JSON.stringify(document, null, 2);
}

function toJson({ rule, outcome, durationMs, reason, failures }: RuleResult, secrets: ReadonlySet<string>) {
  return {
    id: rule.id,
    level: rule.level,
    title: rule.title,
    basis: rule.basis,
    sources: rule.sources.map(describeSource),
    outcome,
    durationMs,
    ...(reason === undefined ? {} : { reason: reportText(reason, secrets) }),
    ...(failures.length === 0 ? {} : { failures: failures.map((failure) => failureJson(failure, secrets)) }),
  };
}

function failureJson(
  { case: label, message, transcripts, omitted }: RuleFailure,
  secrets: ReadonlySet<string>,
) {
  return {
    case: label === undefined ? null : reportText(label, secrets),
    message: reportText(message, secrets),
    requestsBefore: omitted,
    requests: transcripts.map(({ sent, received, problem }) => ({
      sent: transcriptLines(sent, secrets).join("\n"),
      received: received.length === 0 ? null : transcriptLines(received, secrets).join("\n"),
      problem: problem === undefined ? null : reportText(problem, secrets),
    })),
  };
}
