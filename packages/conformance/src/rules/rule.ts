// Declares a rule as a value: what must hold, where that is written, and how it is checked.

import type { ResponseCheck } from "../failures/watch.ts";
import type { Contents } from "../requests/contents.ts";
import type { RuleContext } from "../requests/rule-context.ts";

/** The groups of rules, in the order of the report. */
export const levels = ["contract", "ids", "idempotence", "errors"] as const;
export type Level = (typeof levels)[number];

/**
 * Why a rule must hold. `contract`: the sample contract itself says so. `standard`: an RFC on which
 * it is built says so. `decision`: the contract is silent, and docs/decisions.md of this project
 * decides.
 */
export const bases = ["contract", "standard", "decision"] as const;
export type Basis = (typeof bases)[number];

export interface ConformanceRule {
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
  /** Why the rule has nothing to try with the contract; undefined if it does. */
  readonly unfit: string | undefined;
}

type Requirement = Pick<ConformanceRule, "basis" | "sources">;

/** A rule without its level and name. */
interface RuleDefinition extends Pick<ConformanceRule, "title" | "run" | "every"> {
  readonly required: Requirement;
  /** Whether the contract has what the rule is about. Otherwise no report mentions the rule. */
  readonly applies?: boolean;
  /** Why the rule has nothing to try with the contract, for the report; false if it does. */
  readonly unfit?: string | false;
}

/** @param named titles are about plants with a name, and get the words of the contract. */
export function rulesOf(
  contents: Contents,
  level: Level,
  named: Readonly<Record<string, RuleDefinition>>,
): readonly ConformanceRule[] {
  return Object.entries(named)
    .filter(([, { applies = true }]) => applies)
    .map(([name, { required, title, unfit, run, every }]) => ({
      id: `${level}.${name}`,
      level,
      title: contents.inItsWords(title),
      ...required,
      run,
      every,
      unfit: unfit || undefined,
    }));
}

/** Marks all of the rules as unfit for a contract, if there is a reason. */
export function allUnfit(
  reason: string | false,
  rules: readonly ConformanceRule[],
): readonly ConformanceRule[] {
  return reason === false ? rules : rules.map((rule) => ({ ...rule, unfit: reason }));
}

/** Why rules do not apply. */
export const unfitReasons = {
  serverIds: "the server chooses the ids",
  noToken: "the contract takes requests without a token",
  noBearer: "the contract takes no bearer token",
  noBody: "the contract has no body in its response",
  textIds: "the contract's ids are texts",
  limitedIds: "the contract limits its ids",
  limitedTexts: "the contract has no text that takes what they send",
  noOthers: "the contract allows no unknown members",
} as const;

export const byContract = (...sources: string[]): Requirement => ({ basis: "contract", sources });
export const byStandard = (...sources: string[]): Requirement => ({ basis: "standard", sources });
export const byDecision = (...sources: string[]): Requirement => ({ basis: "decision", sources });
export const openapi = (path: string) => `openapi.json, ${path}`;
/** The question is the first cell of its row. */
export const decision = (question: string) => `docs/decisions.md, "${question}"`;
export const rfc = (number: number, section: string) => `RFC ${number}, section ${section}`;

/** The places in a contract that rules cite. A path of member names may be added to each. */
export function placesIn({ collection: { describedPath, operations } }: Contents) {
  const operation = openapi(`paths.${describedPath}.post`);
  return {
    operation,
    body: `${operation}.requestBody`,
    responses: `${operation}.responses`,
    success: `${operation}.responses.${operations.create.status}`,
    security: openapi("components.securitySchemes"),
  };
}

/** Such as `Required by a standard: RFC 9112, section 9.3; RFC 9112, section 9.6`. */
export function describeRequirement({ basis, sources }: Requirement): string {
  return `Required by ${describeBasis(basis)}: ${sources.join("; ")}`;
}

export function describeBasis(basis: Basis): string {
  return { contract: "the contract", standard: "a standard", decision: "a decision" }[basis];
}
