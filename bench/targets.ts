// Figures beside what they are to be.

import { type Spread, spreadText } from "./spread.ts";
import { figure, markdownTable } from "./table.ts";

type Target = { readonly atLeast: number } | { readonly atMost: number };

/** A figure, and what it is to be if anything was said about it. */
export interface JudgedFigure {
  readonly name: string;
  readonly spread: Spread;
  readonly target?: Target | undefined;
}

/** Whether the median meets the target; nothing if there is none. */
function isMet({ spread, target }: JudgedFigure): boolean | undefined {
  if (target === undefined) return undefined;
  return "atLeast" in target ? spread.median >= target.atLeast : spread.median <= target.atMost;
}

export function judgedTable(figures: readonly JudgedFigure[]): string {
  const rows = figures.map((judged) => [
    judged.name,
    spreadText(judged.spread, figure),
    judged.target === undefined ? "" : targetText(judged.target),
    isMet(judged) === undefined ? "" : isMet(judged) ? "met" : "missed",
  ]);
  return markdownTable(["judged", "median (range)", "target", "verdict"], rows);
}

function targetText(target: Target): string {
  return "atLeast" in target ? `at least ${target.atLeast}` : `at most ${target.atMost}`;
}
