// The report as JSON, for programs.

import { numberedId } from "../core/contract/plant-id.ts";
import { bases } from "./rule.ts";
import { type ConformanceReport, conforms, countOutcomes } from "./run.ts";

/** Raised when a member changes its meaning or is removed. */
const formatVersion = 5;

/**
 * The report as a JSON document. Ids are strings: many readers of JSON lose the digits of a number.
 */
export function formatJsonReport(report: ConformanceReport): string {
  const { version, ids, results, ...run } = report;
  const document = {
    formatVersion,
    tool: { name: "plantstore", version },
    ...run,
    conforms: conforms(report),
    ids: ids.map(({ from, to, format }) => ({
      from: String(numberedId(format, from)),
      to: String(numberedId(format, to)),
    })),
    summary: countOutcomes(results),
    bases: Object.fromEntries(
      bases.map((basis) => [basis, countOutcomes(results.filter(({ rule }) => rule.basis === basis))]),
    ),
    rules: results.map(({ rule: { run: _run, every: _every, ...rule }, ...result }) => ({
      ...rule,
      ...result,
    })),
  };
  return JSON.stringify(document, null, 2);
}
