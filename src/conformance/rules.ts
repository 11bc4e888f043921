// All rules, in the order in which they run, and the selection of some.

import { contractRules, robustnessRules } from "./contract-rules.ts";
import { errorRules } from "./error-rules.ts";
import { httpRules } from "./http-rules.ts";
import { idRules } from "./id-rules.ts";
import { idempotenceRules } from "./idempotence-rules.ts";
import type { Basis, Rule } from "./rule.ts";

export const rules: readonly Rule[] = [
  ...contractRules,
  ...idRules,
  ...idempotenceRules,
  ...errorRules,
  ...httpRules,
  ...robustnessRules,
];

export interface Selection {
  readonly bases: readonly Basis[];
  /** Ids of rules or names of levels: if there are any, only these. */
  readonly only: readonly string[];
  readonly skip: readonly string[];
}

export function selectRules({ bases, only, skip }: Selection): readonly Rule[] {
  const isNamed = ({ id, level }: Rule, names: readonly string[]) =>
    names.includes(id) || names.includes(level);
  return rules.filter(
    (rule) =>
      bases.includes(rule.basis) && (only.length === 0 || isNamed(rule, only)) && !isNamed(rule, skip),
  );
}

export function isRuleName(name: string): boolean {
  return rules.some(({ id, level }) => id === name || level === name);
}
