// Formats the report of a run as JSON, for programs.

import {
  type CollectionReport,
  type ConformanceReport,
  conforms,
  conformsInAll,
  countOutcomes,
} from "../run/run.ts";

/** Raised when a member changes its meaning or is removed. */
const formatVersion = 1;

/** Formats the reports of all collections as a JSON document. */
export function formatJsonReports(all: readonly CollectionReport[]): string {
  const reports = all.flatMap((each) => ("report" in each ? [each.report] : []));
  const [first] = reports;
  if (first === undefined) throw new Error("No collection was checked");
  const { url, version, seed, startedAt, service } = first;
  const document = {
    formatVersion,
    tool: { name: "plantstore", version },
    url,
    service,
    seed,
    startedAt,
    durationMs: reports.reduce((total, { durationMs }) => total + durationMs, 0),
    conforms: conformsInAll(all),
    summary: countOutcomes(reports.flatMap(({ results }) => results)),
    collections: all.map((each) =>
      "report" in each ? { name: each.name, ...resultsOf(each.report) } : each,
    ),
  };
  return JSON.stringify(document, null, 2);
}

/** Picks what differs between collections. */
function resultsOf(report: ConformanceReport) {
  const { results, leftOut } = report;
  return {
    leftOut,
    conforms: conforms(report),
    summary: countOutcomes(results),
    rules: results.map(({ rule: { run: _run, every: _every, ...rule }, ...result }) => ({
      ...rule,
      ...result,
    })),
  };
}
