// Prints a new token.

import { OperatorError } from "../core/operator-error.ts";
import type { TokenStore } from "../core/store/sql-tokens.ts";
import { host } from "./host.ts";

/** Prints lines with a token. Revokes one that could not be printed: it cannot be shown again. */
export async function printToken(
  tokens: TokenStore,
  hash: string,
  lines: readonly string[],
  { what = "the token", advice }: { readonly what?: string; readonly advice: string },
): Promise<void> {
  // Rejects if the reader exits, too, which printLines ignores.
  const written = host().output.write(lines.map((line) => `${line}\n`));
  await written.catch(async (error) => {
    await tokens.revokeByHash(hash);
    throw new OperatorError(
      `${what} could not be printed (${error.code ?? error.message}), and is revoked; ${advice}`,
    );
  });
}
