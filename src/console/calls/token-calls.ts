// Runs the console's calls that list, issue and revoke tokens.

import { AdminError, BadRequestError } from "../../admin-pages/admin-responses.ts";
import { isTokenName, makeToken, randomBytes } from "../../auth/token.ts";
import { type TokenSummary, toTokenSummary } from "../../auth/token-summary.ts";
import { parseExpiry } from "../../base/duration.ts";
import { isStorable } from "../../contract/stored-types.ts";
import type { TokenStore } from "../../store/shared/sql-tokens.ts";

export class TokenCalls {
  readonly #store: TokenStore;
  readonly #wallNow: () => number;

  /** @param wallNow milliseconds since the epoch. */
  constructor(store: TokenStore, wallNow: () => number) {
    this.#store = store;
    this.#wallNow = wallNow;
  }

  async list(): Promise<readonly TokenSummary[]> {
    const now = this.#wallNow();
    return (await this.#store.list()).map((token) => toTokenSummary(token, now));
  }

  /** Issues a token. No other response shows it. */
  async issue({ name, expires }: { name: string; expires: string }) {
    const now = this.#wallNow();
    if (!isTokenName(name))
      throw new BadRequestError("A name must be one line of text, without control characters.");
    const expiresAt = expiryOf(expires, now);
    const { token, record } = makeToken({ name, expiresAt }, { now, randomBytes });
    const isAdded = await this.#store.add(record);
    if (isAdded) return { token };
    throw new AdminError(
      409,
      `A token named ${JSON.stringify(name)} already exists; choose another name, or revoke it first.`,
    );
  }

  async revoke({ name }: { name: string }): Promise<void> {
    if (!isStorable(name)) throw noActiveToken(name);
    const isRevoked = await this.#store.revoke(name, this.#wallNow());
    if (!isRevoked) throw noActiveToken(name);
  }
}

/** Milliseconds since the epoch, null for never. Throws a BadRequestError. */
function expiryOf(expires: string, now: number): number | null {
  const expiresAt = expires === "" ? null : parseExpiry(expires, now);
  if (expiresAt === undefined) throw new BadRequestError("The lifetime must be a duration: 90d or 12h.");
  return expiresAt;
}

function noActiveToken(name: string): AdminError {
  return new AdminError(404, `There is no active token named ${JSON.stringify(name)}.`);
}
