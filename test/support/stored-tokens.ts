// The tokens of a store.

import { type TokenSummary, toTokenSummary } from "../../src/auth/token-summary.ts";
import { withStore } from "./server.ts";

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
