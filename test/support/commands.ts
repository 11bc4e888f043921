// What commands print: an error of one line, and the list of tokens.

import { describeError, runCommandLine } from "../../src/cli/main.ts";
import { type TokenSummary, toTokenSummary } from "../../src/core/auth/token-summary.ts";
import { withStore } from "./server.ts";

export interface CommandError {
  readonly exitCode: number;
  readonly stderr: string;
}

/** What a command that fails before it prints anything ends with. Rejects if it succeeds. */
export async function commandError(args: readonly string[]): Promise<CommandError> {
  try {
    await runCommandLine(args);
  } catch (error) {
    const { exitCode, line } = describeError(error);
    return { exitCode, stderr: line === undefined ? "" : `${line}\n` };
  }
  throw new Error(`plantstore ${args.join(" ")} succeeded`);
}

/** The tokens of a store, oldest first. */
export async function listedTokens(database: string): Promise<TokenSummary[]> {
  const tokens = await withStore(database, "existing", (store) => store.tokens.list());
  const now = Date.now();
  return tokens.map((token) => toTokenSummary(token, now));
}

/** The states of the tokens of a name, oldest first. */
export async function statesOf(database: string, name: string): Promise<string[]> {
  const tokens = await listedTokens(database);
  return tokens.filter((token) => token.name === name).map(({ state }) => state);
}
