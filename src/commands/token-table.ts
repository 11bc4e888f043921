// Tokens as a table.

import { columnLines } from "../operator-output.ts";
import type { ListedToken } from "../tokens/listed-token.ts";

export function tableOf(tokens: readonly ListedToken[]): string[] {
  const header = ["NAME", "STATE", "CREATED", "EXPIRES", "REVOKED", "LAST USED"];
  const cells = [header, ...tokens.map((token) => Object.values(token).map((cell) => cell ?? "-"))];
  return columnLines(cells);
}
