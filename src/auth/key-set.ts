// The keys that an identity provider had at one time, and the tokens that were verified with them.

import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import type { Caller } from "./caller.ts";

/** A token whose signature and claims were found to be right. */
export interface VerifiedToken {
  readonly caller: Caller;
  /** Milliseconds since the epoch: from this moment on it is not accepted. */
  readonly expiresAt: number;
}

/** At some 400 bytes each 4 MB. One more, and the oldest is verified again when it comes again. */
const verifiedTokensMax = 10_000;

/** When the keys change a new set begins, without verified tokens: none of them outlives its key. */
export class KeySet {
  /** The key that a token's header asks for. */
  readonly keyOf: JWTVerifyGetKey;
  readonly #verified = new Map<string, VerifiedToken>();

  /** Throws a JOSEError if it is no JSON Web Key Set (RFC 7517, section 5). */
  constructor(jwks: unknown) {
    this.keyOf = createLocalJWKSet(jwks as JSONWebKeySet);
  }

  /** What was verified, by the token's hash: a token itself is kept nowhere. */
  verified(hash: string): VerifiedToken | undefined {
    return this.#verified.get(hash);
  }

  remember(hash: string, token: VerifiedToken): void {
    this.#verified.set(hash, token);
    if (this.#verified.size <= verifiedTokensMax) return;
    const [oldest] = this.#verified.keys();
    if (oldest !== undefined) this.#verified.delete(oldest);
  }
}
