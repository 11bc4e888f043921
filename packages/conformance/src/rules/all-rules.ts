// Lists all rules of a contract in the order in which they run, and selects some.

import type { Contents } from "../requests/contents.ts";
import { contractRules, robustnessRules } from "./contract-rules.ts";
import { editRules } from "./edit-rules.ts";
import { errorRules } from "./error-rules.ts";
import { idRules } from "./id-rules.ts";
import { idempotenceRules } from "./idempotence-rules.ts";
import { keyRules } from "./key-rules.ts";
import { operationRules } from "./operation-rules.ts";
import { allUnfit, type Basis, type ConformanceRule, unfitReasons } from "./rule.ts";

/** All rules for a contract. Those that have nothing to try with it say why. */
export function rulesFor(contents: Contents): readonly ConformanceRule[] {
  const serverIds = !contents.sendsIds && unfitReasons.serverIds;
  const textIds = contents.hasTextIds && unfitReasons.textIds;
  return [
    ...contractRules(contents),
    ...operationRules(contents),
    ...editRules(contents),
    ...allUnfit(serverIds || textIds, idRules(contents)),
    ...allUnfit(serverIds, idempotenceRules(contents)),
    ...keyRules(contents),
    ...errorRules(contents),
    ...robustnessRules(contents),
  ];
}

export interface Selection {
  readonly bases: readonly Basis[];
  /** Ids of rules or names of levels: if there are any, only these. */
  readonly only: readonly string[];
  readonly skip: readonly string[];
}

export function selectRules(
  rules: readonly ConformanceRule[],
  { bases, only, skip }: Selection,
): readonly ConformanceRule[] {
  const isNamed = ({ id, level }: ConformanceRule, names: readonly string[]) =>
    names.includes(id) || names.includes(level);
  return rules.filter(
    (rule) =>
      bases.includes(rule.basis) && (only.length === 0 || isNamed(rule, only)) && !isNamed(rule, skip),
  );
}
