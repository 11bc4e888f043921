// Every credential that a server accepts: tokens that were issued here, and an identity provider's JWTs.

import type { AuthResult } from "./caller.ts";
import type { JwtVerifier } from "./jwt-verifier.ts";
import { tokenPrefix } from "./token.ts";
import type { TokenCache } from "./token-cache.ts";

/**
 * Longer ones are refused before anything is hashed or decoded. Bun lets 16 KiB of headers in all pass, and nginx, unless
 * told otherwise, 8 KiB in a line, so that nobody can rely on longer ones.
 */
const tokenCharsMax = 8_192;

/** RFC 6750, section 2.1. A JWT is not held against it, at 0.6 µs for 1 KB: if it was verified it is well-formed. */
const token68 = /^[A-Za-z0-9\-._~+/]+=*$/;

export class Authenticator {
  readonly #tokens: TokenCache;
  readonly #jwts: JwtVerifier | undefined;

  /** Without `jwts`, a JWT is a token that nobody knows. */
  constructor(tokens: TokenCache, jwts: JwtVerifier | undefined) {
    this.#tokens = tokens;
    this.#jwts = jwts;
  }

  /**
   * Whom a bearer token is from, or why it is not accepted. It may be any text. A promise only where the store or the
   * identity provider must be asked, or a signature checked.
   */
  authenticate(token: string): AuthResult | Promise<AuthResult> {
    if (token.length > tokenCharsMax) return "unknown";
    if (this.#jwts !== undefined && isJwt(token)) return this.#jwts.authenticate(token);
    if (!token68.test(token)) return "unknown";
    const accepted = this.#tokens.lookup(token);
    return accepted instanceof Promise ? accepted.then(judgedFrom) : judgedFrom(accepted);
  }
}

/** RFC 7515, section 3.1: three parts. A JWT that is encrypted has five. */
function isJwt(token: string): boolean {
  return !token.startsWith(tokenPrefix) && token.split(".").length === 3;
}

function judgedFrom(accepted: Awaited<ReturnType<TokenCache["lookup"]>>): AuthResult {
  if (accepted === undefined) return "unknown";
  if (accepted === "unavailable") return "storeUnavailable";
  return { key: accepted.hash, name: accepted.name };
}
