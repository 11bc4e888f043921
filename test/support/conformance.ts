// Runs rules of the conformance suite in this process.

import { randomInt } from "node:crypto";
import { formatTextReports } from "../../packages/conformance/src/reports/text-report.ts";
import { Contents } from "../../packages/conformance/src/requests/contents.ts";
import { rulesFor } from "../../packages/conformance/src/rules/all-rules.ts";
import type { ConformanceRule, Level } from "../../packages/conformance/src/rules/rule.ts";
import { type ConformanceReport, runConformance } from "../../packages/conformance/src/run/run.ts";
import { plantStore } from "./contracts.ts";
import type { Target } from "./http.ts";

const plantStoreContents = new Contents(plantStore, plantStore);

/** The rules of the Plant Store. */
export const allRules = rulesFor(plantStoreContents);

/** The levels of rules that depend on how plants are stored, and not on the HTTP before that. */
export const ofEngines: readonly Level[] = ["contract", "ids", "idempotence"];

/** The rules of one level: the test of one takes less than 3 seconds, that of all more. */
export const rulesOf = (level: Level) => allRules.filter((rule) => rule.level === level);

export interface CheckOptions {
  /** The Plant Store's by default. */
  readonly contents?: Contents;
  readonly rules?: readonly ConformanceRule[];
  readonly timeoutMs?: number;
  readonly bodyBytesMax?: number;
}

/** Checks a server, and returns the report. Throws why no rule can be judged. */
export async function checkConformance(
  { url, token, ca }: Target,
  {
    contents = plantStoreContents,
    rules = allRules,
    timeoutMs = 20_000,
    bodyBytesMax = 2 ** 20,
  }: CheckOptions = {},
): Promise<ConformanceReport> {
  const report = await runConformance({
    contents,
    rules,
    timeoutMs,
    seed: randomInt(2 ** 32),
    target: { url: new URL(url), token, ca, bodyBytesMax },
  });
  if ("problem" in report) throw new Error(report.problem);
  return report;
}

/** The report as text, for the message of a failed test. */
export function reportText(report: ConformanceReport): string {
  return formatTextReports([{ name: "", report }]).join("\n");
}

/** Rules by their ids. Throws for an id that no rule has. */
export function rulesNamed(...ids: readonly string[]): ConformanceRule[] {
  return ids.map((id) => {
    const rule = allRules.find((each) => each.id === id);
    if (rule === undefined) throw new Error(`There is no rule ${id}`);
    return rule;
  });
}

/** The reasons why rules do not apply to a contract, keyed by rule. */
export function leftOutOf(contents: Contents): Readonly<Record<string, string>> {
  return Object.fromEntries(
    rulesFor(contents).flatMap(({ id, unfit }) => (unfit === undefined ? [] : [[id, unfit]])),
  );
}

/** The paths in the sources of rules that lead to no member of a description. */
export function deadPaths(rules: readonly ConformanceRule[], description: unknown): string[] {
  const paths = rules.flatMap(({ sources }) =>
    sources.flatMap((source) => /^openapi\.json, (.*)/.exec(source)?.[1] ?? []),
  );
  return paths.filter((path) => memberAt(description, path) === undefined);
}

/** The value at a path of member names. The names themselves may contain points. */
function memberAt(value: unknown, path: string): unknown {
  if (path === "" || typeof value !== "object" || value === null) return path === "" ? value : undefined;
  const found = Object.entries(value).filter(([name]) => path === name || path.startsWith(`${name}.`));
  return found
    .map(([name, member]) => memberAt(member, path.slice(name.length + 1)))
    .find((each) => each !== undefined);
}
