// The tokens, as the console lists, issues and revokes them.

import { isTokenName, makeToken, randomBytes } from "../../auth/token.ts";
import { toTokenSummary } from "../../auth/token-summary.ts";
import { parseTimestamp } from "../../duration.ts";
import type { TokenStore } from "../../store/token-store.ts";
import { ChangeQueue, SharedRun } from "../shared-work.ts";
import { BadRequest, json, jsonOf, jsonText, refuse } from "./responses.ts";

export class Tokens {
  readonly #store: TokenStore;
  readonly #wallNow: () => number;
  readonly #changes = new ChangeQueue();
  readonly #listText = new SharedRun(async () => {
    const tokens = await this.#store.list();
    const now = this.#wallNow();
    return jsonText(tokens.map((token) => toTokenSummary(token, now)));
  });

  /** @param wallNow milliseconds since the epoch. */
  constructor(store: TokenStore, wallNow: () => number) {
    this.#store = store;
    this.#wallNow = wallNow;
  }

  async list(): Promise<Response> {
    return jsonOf(await this.#listText.run());
  }

  /** Issues a token. This answer is the only one that shows it. */
  async issue({ name, expires }: { name: string; expires: string }): Promise<Response> {
    const now = this.#wallNow();
    if (!isTokenName(name)) throw new BadRequest("A name is one line of text, without control characters.");
    const expiresAt = expires === "" ? null : parseTimestamp(expires, now);
    if (expiresAt === undefined)
      throw new BadRequest("The end must lie ahead: 90d, 12h, or a date such as 2027-01-31.");
    const { token, record } = makeToken({ name, expiresAt }, { now, randomBytes });
    const isAdded = await this.#changes.run(() => this.#store.add(record));
    if (isAdded === undefined) return tooManyChanges();
    if (isAdded) return json({ token }, 201);
    return refuse(
      409,
      `A token named ${JSON.stringify(name)} exists already; choose another name, or revoke it.`,
    );
  }

  async revoke({ name }: { name: string }): Promise<Response> {
    const isRevoked = await this.#changes.run(() => this.#store.revoke(name, this.#wallNow()));
    if (isRevoked === undefined) return tooManyChanges();
    if (isRevoked) return json({});
    return refuse(404, `No token named ${JSON.stringify(name)} is in force.`);
  }
}

function tooManyChanges(): Response {
  return refuse(503, "Too many changes of tokens wait already; try again.");
}
