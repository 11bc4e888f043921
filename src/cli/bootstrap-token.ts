// The first token of an empty store, which serve prints.

import { makeToken, randomBytes } from "../core/auth/token.ts";
import { OperatorError } from "../core/operator-error.ts";
import type { TokenStore } from "../core/store/token-store.ts";
import { printAll, printLines } from "./output.ts";

/**
 * Prints the lines of a start, with a first token if the store never had one. A token that could
 * not be printed is revoked.
 */
export async function printStart(
  tokens: TokenStore,
  render: (firstToken: string | undefined) => readonly string[],
): Promise<void> {
  const { token, record } = makeToken({ name: "first", expiresAt: null }, { now: Date.now(), randomBytes });
  if (!(await tokens.addFirst(record))) return printLines(render(undefined));
  await printAll(render(token)).catch(async (error) => {
    await tokens.revokeByHash(record.hash);
    throw new OperatorError(
      `the first token could not be printed (${error.code ?? error.message}), and is revoked; redirect standard output and start again: the next start prints another`,
    );
  });
}
