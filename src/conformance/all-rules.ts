// All rules of a contract, in the order in which they run, and the selection of some.

import type { Contents } from "./contents.ts";
import { contractRules, robustnessRules } from "./contract-rules.ts";
import { editRules } from "./edit-rules.ts";
import { errorRules } from "./error-rules.ts";
import { httpRules } from "./http-rules.ts";
import { idRules, textIdRules } from "./id-rules.ts";
import { idempotenceRules } from "./idempotence-rules.ts";
import { keyRules } from "./key-rules.ts";
import { operationRules } from "./operation-rules.ts";
import { type Basis, choosingIds, type DefinedRule, type Rule } from "./rule.ts";

/** A rule that has nothing to try with a contract. */
interface UnfitRule {
  readonly rule: Rule;
  readonly reason: string;
}

export interface ContractRules {
  readonly rules: readonly Rule[];
  readonly leftOut: readonly UnfitRule[];
}

export function rulesFor(contents: Contents): ContractRules {
  const all: readonly DefinedRule[] = [
    ...contractRules(contents),
    ...ofContract(operationRules(contents)),
    ...ofContract(editRules(contents)),
    ...ofContract(textIdRules(contents)),
    ...choosingIds(contents, idRules(contents)),
    ...choosingIds(contents, idempotenceRules(contents)),
    ...ofContract(keyRules(contents)),
    ...errorRules(contents),
    ...httpRules(contents),
    ...robustnessRules(contents),
  ];
  return {
    rules: all.flatMap(({ rule, unfit }) => (unfit === undefined ? [rule] : [])),
    leftOut: all.flatMap(({ rule, unfit }) => (unfit === undefined ? [] : [{ rule, reason: unfit }])),
  };
}

/** Rules of what only some contracts have: nobody misses them elsewhere. */
function ofContract(rules: readonly DefinedRule[]): readonly DefinedRule[] {
  return rules.filter(({ unfit }) => unfit === undefined);
}

export interface Selection {
  readonly bases: readonly Basis[];
  /** Ids of rules or names of levels: if there are any, only these. */
  readonly only: readonly string[];
  readonly skip: readonly string[];
}

export function selectRules(rules: readonly Rule[], { bases, only, skip }: Selection): readonly Rule[] {
  const isNamed = ({ id, level }: Rule, names: readonly string[]) =>
    names.includes(id) || names.includes(level);
  return rules.filter(
    (rule) =>
      bases.includes(rule.basis) && (only.length === 0 || isNamed(rule, only)) && !isNamed(rule, skip),
  );
}
