// The result of a suite, as JSON: small, with the rounds that each summary comes from.

import type { Environment } from "./environment.ts";
import type { Threshold } from "./suite.ts";
import type { Summary } from "./summary.ts";

export interface Result {
  readonly suite: string;
  /** The command line. */
  readonly command: string;
  readonly environment: Environment;
  readonly versions: Readonly<Record<string, string>>;
  readonly rounds: number;
  readonly seconds: number;
  /** In each store, where the suite has such a number. */
  readonly plants?: number;
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly scenarios: readonly ScenarioResult[];
}

export interface ScenarioResult {
  readonly name: string;
  /** The metrics of a report, in this order. */
  readonly metrics: readonly string[];
  /** By subject. */
  readonly durability: Readonly<Record<string, string>>;
  readonly audits: readonly Audit[];
  readonly claims: readonly ClaimResult[];
  readonly series: readonly Series[];
}

export interface Audit {
  /** The subject. */
  readonly store: string;
  readonly acknowledged: number;
  readonly rows: number;
}

/** The figures of one subject under one load. */
export interface Series {
  readonly load: string;
  readonly subject: string;
  /** By metric. */
  readonly metrics: Readonly<Record<string, Summary>>;
}

export interface ClaimResult extends Summary {
  readonly name: string;
  readonly threshold?: Threshold;
}

export function isMet({ median, threshold }: ClaimResult): boolean | undefined {
  if (threshold === undefined) return undefined;
  return "atLeast" in threshold ? median >= threshold.atLeast : median <= threshold.atMost;
}

const folder = new URL("results/", import.meta.url).pathname;

/** The committed results, by the names of their suites. */
export async function readResults(): Promise<ReadonlyMap<string, Result>> {
  const results = new Map<string, Result>();
  for (const file of [...new Bun.Glob("*.json").scanSync(folder)].toSorted()) {
    const result = (await Bun.file(`${folder}${file}`).json()) as Result;
    results.set(result.suite, result);
  }
  return results;
}

/** Writes a result with each summary on a line. */
export async function writeResult(path: string, result: Result): Promise<void> {
  const text = JSON.stringify(result, undefined, 1);
  const short = text.replaceAll(/"median": [^[\]]+\[[^[\]]+\]/g, (list) => list.replaceAll(/\s+/g, " "));
  await Bun.write(path, `${short}\n`);
}
