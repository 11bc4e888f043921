// The console's calls that list, issue and revoke tokens.

import { isTokenName, makeToken, randomBytes } from "../../auth/token.ts";
import { toTokenSummary } from "../../auth/token-summary.ts";
import { parseTimestamp } from "../../duration.ts";
import type { TokenStore } from "../../store/token-store.ts";
import { BadRequestError, respondError, respondJson, respondJsonText, stringify } from "../responses.ts";
import { CoalescedWork, WriteQueue } from "../throttling.ts";

export class Tokens {
  readonly #store: TokenStore;
  readonly #wallNow: () => number;
  readonly #writes = new WriteQueue();
  readonly #listText = new CoalescedWork(async () => {
    const tokens = await this.#store.list();
    const now = this.#wallNow();
    return stringify(tokens.map((token) => toTokenSummary(token, now)));
  });

  /** @param wallNow milliseconds since the epoch. */
  constructor(store: TokenStore, wallNow: () => number) {
    this.#store = store;
    this.#wallNow = wallNow;
  }

  async list(): Promise<Response> {
    return respondJsonText(await this.#listText.run());
  }

  /** Issues a token. No other response shows it. */
  async issue({ name, expires }: { name: string; expires: string }): Promise<Response> {
    const now = this.#wallNow();
    if (!isTokenName(name))
      throw new BadRequestError("A name must be one line of text, without control characters.");
    const expiresAt = expires === "" ? null : parseTimestamp(expires, now);
    if (expiresAt === undefined)
      throw new BadRequestError("The expiry must be in the future: 90d, 12h, or a date such as 2027-01-31.");
    const { token, record } = makeToken({ name, expiresAt }, { now, randomBytes });
    const isAdded = await this.#writes.run(() => this.#store.add(record));
    if (isAdded === undefined) return tooManyWrites();
    if (isAdded) return respondJson({ token }, 201);
    return respondError(
      409,
      `A token named ${JSON.stringify(name)} already exists; choose another name, or revoke it first.`,
    );
  }

  async revoke({ name }: { name: string }): Promise<Response> {
    const isRevoked = await this.#writes.run(() => this.#store.revoke(name, this.#wallNow()));
    if (isRevoked === undefined) return tooManyWrites();
    if (isRevoked) return respondJson({});
    return respondError(404, `There is no active token named ${JSON.stringify(name)}.`);
  }
}

function tooManyWrites(): Response {
  return respondError(503, "Too many changes of tokens are queued; try again.");
}
