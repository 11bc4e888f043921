// What `plantstore token list` says.

import { run } from "./server.ts";

/** A token as `token list --json` shows it. */
export interface TokenSummary {
  readonly name: string;
  readonly state: string;
  readonly created: string;
  readonly expires: string | null;
  readonly revoked: string | null;
  readonly lastUsed: string | null;
}

/** The tokens of a store, oldest first. */
export async function listedTokens(database: string): Promise<TokenSummary[]> {
  const { exitCode, stdout, stderr } = await run(["token", "list", "--json", "--database", database]);
  if (exitCode !== 0) throw new Error(stderr);
  return stdout
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line));
}

/** The states of the tokens of a name, oldest first. */
export async function statesOf(database: string, name: string): Promise<string[]> {
  const tokens = await listedTokens(database);
  return tokens.filter((token) => token.name === name).map(({ state }) => state);
}
