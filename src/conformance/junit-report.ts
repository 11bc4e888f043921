// The report as JUnit XML, as continuous integration systems read it: a suite for each level, a test case for each rule.

import { describeBasis, describeSource, levels } from "./rule.ts";
import { type ConformanceReport, countOutcome, type RuleResult } from "./run.ts";
import { formatFailure } from "./text-report.ts";
import { reportText } from "./transcript-text.ts";

/** The lines of an XML 1.0 document in UTF-8. */
export function formatJunitReport(report: ConformanceReport): string[] {
  const { url, startedAt, durationMs, results, secrets } = report;
  const name = `Plant Store conformance of ${reportText(url, secrets)}`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escapeXml(name)}" ${counts(results)} time="${seconds(durationMs)}">`,
    ...levels.flatMap((level) => {
      const suite = results.filter(({ rule }) => rule.level === level);
      if (suite.length === 0) return [];
      const time = suite.reduce((sum, result) => sum + result.durationMs, 0);
      // The schema has no time zone in a timestamp.
      const timestamp = startedAt.replace(/\.\d+Z$/, "");
      return [
        `  <testsuite name="${level}" ${counts(suite)} time="${seconds(time)}" timestamp="${timestamp}">`,
        ...suite.flatMap((result) => testCase(result, secrets)),
        "  </testsuite>",
      ];
    }),
    "</testsuites>",
  ];
}

function counts(results: readonly RuleResult[]): string {
  return `tests="${results.length}" failures="${countOutcome(results, "fails")}" errors="0" skipped="${countOutcome(results, "skipped")}"`;
}

function testCase(
  { rule, outcome, durationMs, reason, failures }: RuleResult,
  secrets: ReadonlySet<string>,
): string[] {
  const start = `    <testcase classname="${rule.level}" name="${escapeXml(`${rule.id}: ${rule.title}`)}" time="${seconds(durationMs)}"`;
  if (outcome === "holds") return [`${start}/>`];
  if (outcome === "skipped") {
    return [
      `${start}>`,
      `      <skipped message="${escapeXml(reportText(reason ?? "", secrets))}"/>`,
      "    </testcase>",
    ];
  }
  // One element: the schema has no more, and some readers show only the first.
  const [first] = failures;
  const rest = failures.length === 1 ? "" : ` (and ${failures.length - 1} more)`;
  const label = first?.case === undefined ? "" : `${first.case}: `;
  const message = reportText(`${label}${first?.message}${rest}`, secrets);
  const source = `Required by ${describeBasis(rule.basis)}: ${rule.sources.map(describeSource).join("; ")}`;
  const text = [source, ...failures.flatMap((failure) => formatFailure(failure, secrets))].join("\n");
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
