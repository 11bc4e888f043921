// The report as JUnit XML, as continuous integration systems read it: a suite for each level, a
// test case for each rule.

import { levels } from "./rule.ts";
import { type ConformanceReport, countOutcomes, type RuleResult } from "./run.ts";
import { blockLines, headline } from "./text-report.ts";

export function formatJunitReport({ url, startedAt, durationMs, results }: ConformanceReport): string[] {
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escapeXml(`Plant Store conformance of ${url}`)}" ${counts(results)} time="${seconds(durationMs)}">`,
    ...levels.flatMap((level) => {
      const suite = results.filter(({ rule }) => rule.level === level);
      if (suite.length === 0) return [];
      const { skipped, known, blocked } = countOutcomes(suite);
      const time = suite.reduce((sum, result) => sum + result.durationMs, 0);
      // The schema has no time zone in a timestamp.
      const timestamp = startedAt.replace(/\.\d+Z$/, "");
      return [
        `  <testsuite name="${level}" ${counts(suite)} skipped="${skipped + known + blocked}" time="${seconds(time)}" timestamp="${timestamp}">`,
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

function testCase(result: RuleResult): string[] {
  const { rule, outcome, durationMs, reason } = result;
  const start = `    <testcase classname="${rule.level}" name="${escapeXml(`${rule.id}: ${rule.title}`)}" time="${seconds(durationMs)}"`;
  if (outcome === "holds") return [`${start}/>`];
  const content =
    outcome === "fails"
      ? `<failure type="RuleViolation" message="${escapeXml(headline(result))}">${escapeXml(blockLines(result).join("\n"))}</failure>`
      : `<skipped message="${escapeXml(`${outcome}: ${reason}`)}"/>`;
  return [`${start}>`, `      ${content}`, "    </testcase>"];
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
