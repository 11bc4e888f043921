// The console's calls that list, issue, rotate and revoke tokens.

import { CoalescedWork } from "../core/admin/throttling.ts";
import { isTokenName, makeToken, randomBytes } from "../core/auth/token.ts";
import { toIsoString, toTokenSummary } from "../core/auth/token-summary.ts";
import { isStorable } from "../core/contract/plant.ts";
import { parseDurationMs, parseTimestamp } from "../core/duration.ts";
import type { TokenStore } from "../core/store/token-store.ts";
import { BadRequestError, respondError, respondJson, respondJsonText, stringify } from "./responses.ts";
import { WriteQueue } from "./write-queue.ts";

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
    const expiresAt = parseExpiry(expires, now);
    const { token, record } = makeToken({ name, expiresAt }, { now, randomBytes });
    const isAdded = await this.#writes.run(() => this.#store.add(record));
    if (isAdded === undefined) return tooManyWrites();
    if (isAdded) return respondJson({ token }, 201);
    return respondError(
      409,
      `A token named ${JSON.stringify(name)} already exists; choose another name, or revoke it first.`,
    );
  }

  /**
   * Issues a token that replaces those of its name, which stay valid for the overlap. No other
   * response shows it.
   *
   * @param expires "same" for the lifetime of the token that is replaced.
   */
  async rotate({
    name,
    overlap,
    expires,
  }: {
    name: string;
    overlap: string;
    expires: string;
  }): Promise<Response> {
    if (!isStorable(name)) return noActiveToken(name);
    const now = this.#wallNow();
    const overlapMs = parseDurationMs(overlap);
    if (Number.isNaN(overlapMs)) throw new BadRequestError("The overlap must be a duration: 1d, 12h or 0s.");
    const expiresAt = expires === "same" ? undefined : parseExpiry(expires, now);
    const { token, record } = makeToken({ name, expiresAt: null }, { now, randomBytes });
    const rotation = { hash: record.hash, name, rotatedAt: now, expiresAt, overlapEndsAt: now + overlapMs };
    const outcome = await this.#writes.run(() => this.#store.rotate(rotation));
    if (outcome === undefined) return tooManyWrites();
    if (outcome === "none") return noActiveToken(name);
    if (outcome === "expired")
      return respondError(
        409,
        `The token named ${JSON.stringify(name)} has expired; revoke it, and issue another with that name.`,
      );
    return respondJson({ token, predecessorEnds: toIsoString(outcome.predecessorEndsAt) }, 201);
  }

  async revoke({ name }: { name: string }): Promise<Response> {
    if (!isStorable(name)) return noActiveToken(name);
    const isRevoked = await this.#writes.run(() => this.#store.revoke(name, this.#wallNow()));
    if (isRevoked === undefined) return tooManyWrites();
    if (isRevoked) return respondJson({});
    return noActiveToken(name);
  }
}

/** Milliseconds since the epoch, null for never. Throws a BadRequestError. */
function parseExpiry(expires: string, now: number): number | null {
  const expiresAt = expires === "" ? null : parseTimestamp(expires, now);
  if (expiresAt === undefined)
    throw new BadRequestError("The expiry must be in the future: 90d, 12h, or a date such as 2027-01-31.");
  return expiresAt;
}

function noActiveToken(name: string): Response {
  return respondError(404, `There is no active token named ${JSON.stringify(name)}.`);
}

function tooManyWrites(): Response {
  return respondError(503, "Too many changes of tokens are queued; try again.");
}
