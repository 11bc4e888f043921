// The errors of commands, and the tokens of a store.

import { type TokenSummary, toTokenSummary } from "../../src/operations/token-summary.ts";
import { runCommand, withStore } from "./server.ts";

export interface CommandError {
  readonly exitCode: number;
  readonly stderr: string;
}

/** Runs a command that fails. Rejects if it succeeds. */
export async function commandError(args: readonly string[]): Promise<CommandError> {
  const { exitCode, stderr } = await runCommand(args);
  if (exitCode === 0) throw new Error(`plantstore ${args.join(" ")} succeeded`);
  return { exitCode, stderr };
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
