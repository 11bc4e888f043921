// The report as JSON, for programs.

import { bases, levels } from "./rule.ts";
import { type ConformanceReport, causesOf, conforms, countOutcomes, type RuleResult } from "./run.ts";
import type { RuleFailure } from "./transcript-text.ts";

/** Raised when a member changes its meaning or is removed. */
const formatVersion = 2;

/**
 * The report as a JSON document. Ids are strings: many readers of JSON lose the digits of a number.
 */
export function formatJsonReport(report: ConformanceReport): string {
  const { url, version, startedAt, durationMs, ids, results, hints } = report;
  const document = {
    formatVersion,
    tool: { name: "plantstore", version },
    url,
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
      message,
      rules: Array.from(rules.keys(), ({ id }) => id),
    })),
    rules: results.map(toJson),
  };
  return JSON.stringify(document, null, 2);
}

function toJson({ rule, outcome, durationMs, reason, failures }: RuleResult) {
  return {
    id: rule.id,
    level: rule.level,
    title: rule.title,
    basis: rule.basis,
    sources: rule.sources,
    outcome,
    durationMs,
    // Absent where there is none.
    reason,
    failures: failures.length === 0 ? undefined : failures.map(failureJson),
  };
}

function failureJson({ case: label, message, requests, omitted }: RuleFailure) {
  return {
    case: label ?? null,
    message,
    requestsBefore: omitted,
    requests: requests.map(({ sent, received, problem }) => ({
      sent: sent.join("\n"),
      received: received.length === 0 ? null : received.join("\n"),
      problem: problem ?? null,
    })),
  };
}
