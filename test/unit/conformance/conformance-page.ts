// The table of rules in docs/conformance.md.

import type { Rule, Source } from "../../../src/conformance/rule.ts";

/** The cells of a rule's row: its id, its sentence, why it must hold, and where that is written. */
export function ruleCells({ id, title, basis, sources }: Rule): string[] {
  return [`\`${id}\``, title, basis, sources.map(sourceLink).join("; ")];
}

function sourceLink(source: Source): string {
  if ("openapi" in source) return `[openapi.yaml](../openapi.yaml) \`${source.openapi}\``;
  if ("decision" in source) return `[decisions.md](decisions.md): ${source.decision}`;
  const { rfc, section } = source;
  return `[RFC ${rfc}, ${section}](https://www.rfc-editor.org/rfc/rfc${rfc}#section-${section})`;
}
