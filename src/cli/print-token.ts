// Prints a new token.

import { OperatorError } from "../core/operator-error.ts";
import type { TokenStore } from "../core/store/sql-tokens.ts";
import { printAll } from "./output.ts";

/** Prints lines with a token. Revokes one that could not be printed: it cannot be shown again. */
export async function printToken(
  tokens: TokenStore,
  hash: string,
  lines: readonly string[],
  { what = "the token", advice }: { readonly what?: string; readonly advice: string },
): Promise<void> {
  await printAll(lines).catch(async (error) => {
    await tokens.revokeByHash(hash);
    throw new OperatorError(
      `${what} could not be printed (${error.code ?? error.message}), and is revoked; ${advice}`,
    );
  });
}
