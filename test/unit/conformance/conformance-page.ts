// The tables of rules in docs/conformance.md: one for each basis, in the order of the report.

import { type Basis, bases, type Rule, type Source } from "../../../src/conformance/rule.ts";
import { rules } from "../../../src/conformance/rules.ts";

/**
 * The cells of a rule's row: its id, its sentence, and the sections of the standards that require
 * it.
 */
export function ruleCells({ id, title, basis, sources }: Rule): string[] {
  if (basis !== "standard") return [`\`${id}\``, title];
  return [`\`${id}\``, title, sources.flatMap(rfcLinks).join(", ")];
}

function rfcLinks(source: Source): string[] {
  if (!("rfc" in source)) return [];
  const { rfc, section } = source;
  return [`[${rfc}#${section}](https://www.rfc-editor.org/rfc/rfc${rfc}#section-${section})`];
}

/** The rules in the order of the page. */
export const rulesByBasis: readonly Rule[] = bases.flatMap((basis: Basis) =>
  rules.filter((rule) => rule.basis === basis),
);
