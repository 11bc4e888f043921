// A rule of the Plant Store contract, as a value: what must hold, where that is written, and how it
// is checked.

import type { ResponseCheck, RuleContext } from "./context.ts";

/** The groups of rules, in the order of the report. */
export const levels = ["contract", "ids", "idempotence", "errors", "http"] as const;
export type Level = (typeof levels)[number];

/**
 * Why a rule must hold. `contract`: the sample contract itself says so. `standard`: an RFC on which
 * it is built says so. `decision`: the contract is silent, and docs/decisions.md of this project
 * decides.
 */
export const bases = ["contract", "standard", "decision"] as const;
export type Basis = (typeof bases)[number];

export interface Rule {
  /** The level and a name: `ids.beyond-53-bits`. */
  readonly id: string;
  readonly level: Level;
  /** One sentence: what a conforming server does. */
  readonly title: string;
  readonly basis: Basis;
  /** Where it is written, each made by `openapi`, `decision` or `rfc`. */
  readonly sources: readonly string[];
  /** Resolves if the rule holds, else rejects with a RuleViolation or a RuleSkipped. */
  readonly run: (context: RuleContext) => Promise<unknown>;
  readonly every?: ResponseCheck | undefined;
}

type Requirement = Pick<Rule, "basis" | "sources">;

/** A rule without its level and name. */
interface RuleDefinition extends Pick<Rule, "title" | "run" | "every"> {
  readonly required: Requirement;
}

export function rulesOf(level: Level, named: Readonly<Record<string, RuleDefinition>>): readonly Rule[] {
  return Object.entries(named).map(([name, { required, ...definition }]) => ({
    id: `${level}.${name}`,
    level,
    ...required,
    ...definition,
  }));
}

export const byContract = (...sources: string[]): Requirement => ({ basis: "contract", sources });
export const byStandard = (...sources: string[]): Requirement => ({ basis: "standard", sources });
export const byDecision = (...sources: string[]): Requirement => ({ basis: "decision", sources });
export const openapi = (path: string) => `openapi.yaml, ${path}`;
/** The question is the first cell of its row. */
export const decision = (question: string) => `docs/decisions.md, "${question}"`;
export const rfc = (number: number, section: string) => `RFC ${number}, section ${section}`;

/** Such as `Required by a standard: RFC 9112, section 9.3; RFC 9112, section 9.6`. */
export function describeRequirement({ basis, sources }: Requirement): string {
  return `Required by ${describeBasis(basis)}: ${sources.join("; ")}`;
}

export function describeBasis(basis: Basis): string {
  return { contract: "the contract", standard: "a standard", decision: "a decision" }[basis];
}
