// The tokens, as the console lists, issues and revokes them.

import { momentFromText } from "../../moment.ts";
import type { TokenStore } from "../../store/token-store.ts";
import { listed } from "../../tokens/listed-token.ts";
import { isTokenName, makeToken, randomBytes } from "../../tokens/token.ts";
import { BadRequest, json, refuse } from "./answers.ts";

export class Tokens {
  readonly #store: TokenStore;
  readonly #wallNow: () => number;

  /** @param wallNow milliseconds since the epoch. */
  constructor(store: TokenStore, wallNow: () => number) {
    this.#store = store;
    this.#wallNow = wallNow;
  }

  async list(): Promise<Response> {
    const now = this.#wallNow();
    return json((await this.#store.list()).map((token) => listed(token, now)));
  }

  /** Issues a token. This answer is the only one that shows it. */
  async issue({ name, expires }: { name: string; expires: string }): Promise<Response> {
    const now = this.#wallNow();
    if (!isTokenName(name)) throw new BadRequest("A name is one line of text, without control characters.");
    const expiresAt = expires === "" ? null : momentFromText(expires, now);
    if (expiresAt === undefined)
      throw new BadRequest("The end must lie ahead: 90d, 12h, or a date such as 2027-01-31.");
    const { token, record } = makeToken({ name, expiresAt }, { now, randomBytes });
    if (await this.#store.add(record)) return json({ token }, 201);
    return refuse(
      409,
      `A token named ${JSON.stringify(name)} exists already; choose another name, or revoke it.`,
    );
  }

  async revoke({ name }: { name: string }): Promise<Response> {
    if (await this.#store.revoke(name, this.#wallNow())) return json({});
    return refuse(404, `No token named ${JSON.stringify(name)} is in force.`);
  }
}
