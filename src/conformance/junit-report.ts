// The report as JUnit XML, as continuous integration systems read it: a suite for each level, a
// test case for each rule.

import { describeRequirement, levels } from "./rule.ts";
import { type ConformanceReport, countOutcomes, type RuleResult } from "./run.ts";
import { failureLines } from "./text-report.ts";

export function formatJunitReport(report: ConformanceReport): string[] {
  const { url, startedAt, durationMs, results } = report;
  const name = `Plant Store conformance of ${url}`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escapeXml(name)}" ${counts(results)} time="${seconds(durationMs)}">`,
    ...levels.flatMap((level) => {
      const suite = results.filter(({ rule }) => rule.level === level);
      if (suite.length === 0) return [];
      const { skipped, known } = countOutcomes(suite);
      const time = suite.reduce((sum, result) => sum + result.durationMs, 0);
      // The schema has no time zone in a timestamp.
      const timestamp = startedAt.replace(/\.\d+Z$/, "");
      return [
        `  <testsuite name="${level}" ${counts(suite)} skipped="${skipped + known}" time="${seconds(time)}" timestamp="${timestamp}">`,
        ...suite.flatMap(testCase),
        "  </testsuite>",
      ];
    }),
    "</testsuites>",
  ];
}

/** The attributes of a suite; the element of all suites has no `skipped`. */
function counts(results: readonly RuleResult[]): string {
  return `tests="${results.length}" failures="${countOutcomes(results).fails}" errors="0"`;
}

function testCase({ rule, outcome, durationMs, reason, failures }: RuleResult): string[] {
  const start = `    <testcase classname="${rule.level}" name="${escapeXml(`${rule.id}: ${rule.title}`)}" time="${seconds(durationMs)}"`;
  if (outcome === "holds") return [`${start}/>`];
  if (outcome === "skipped" || outcome === "known") {
    const known = outcome === "known" ? "known failure: " : "";
    return [`${start}>`, `      <skipped message="${escapeXml(`${known}${reason}`)}"/>`, "    </testcase>"];
  }
  // One element: the schema has no more, and some readers show only the first.
  const [first] = failures;
  const rest = failures.length === 1 ? "" : ` (and ${failures.length - 1} more)`;
  const label = first?.case === undefined ? "" : `${first.case}: `;
  const message = `${label}${first?.message}${rest}`;
  const text = [
    describeRequirement(rule),
    ...failures.flatMap((failure) => ["", ...failureLines(failure)]),
  ].join("\n");
  return [
    `${start}>`,
    `      <failure type="RuleViolation" message="${escapeXml(message)}">${escapeXml(text)}</failure>`,
    "    </testcase>",
  ];
}

function seconds(ms: number): string {
  return (ms / 1_000).toFixed(3);
}

/** XML has no characters U+FFFE and U+FFFF; control characters have been escaped before. */
function escapeXml(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;")
    .replaceAll(/[\ufffe\uffff]/g, "\ufffd");
}
