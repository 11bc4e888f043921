// Tokens as a table.

import type { TokenSummary } from "../auth/token-summary.ts";
import { formatTable } from "../output.ts";

export function tableOf(tokens: readonly TokenSummary[]): string[] {
  const header = ["NAME", "STATE", "CREATED", "EXPIRES", "REVOKED", "LAST USED"];
  const cells = [header, ...tokens.map((token) => Object.values(token).map((cell) => cell ?? "-"))];
  return formatTable(cells);
}
