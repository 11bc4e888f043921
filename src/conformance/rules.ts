// All rules, in the order of the report, and the selection of some.

import { contractRules } from "./contract-rules.ts";
import { errorRules } from "./error-rules.ts";
import { httpRules } from "./http-rules.ts";
import { idRules } from "./id-rules.ts";
import { idempotenceRules } from "./idempotence-rules.ts";
import type { Level, Rule } from "./rule.ts";

export const rules: readonly Rule[] = [
  ...contractRules,
  ...idRules,
  ...idempotenceRules,
  ...errorRules,
  ...httpRules,
];

/** The rules of these levels with these ids, in their order. */
export function selectRules(chosen: readonly Level[], ids: readonly string[]): readonly Rule[] {
  return rules.filter(({ id, level }) => chosen.includes(level) && (ids.length === 0 || ids.includes(id)));
}

/** Whether there is a rule with this id. */
export function isRuleId(id: string): boolean {
  return rules.some((rule) => rule.id === id);
}
