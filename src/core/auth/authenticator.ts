// Authentication of a request: its Authorization header in, the caller or an ApiError out.

import { ApiError, invalidToken } from "../contract/errors.ts";
import type { AuthResult } from "./caller.ts";
import type { JwtVerifier } from "./jwt-verifier.ts";
import { hasLongBody } from "./long-body.ts";
import { tokenPrefix } from "./token.ts";
import { type TokenCache, unknownToken } from "./token-cache.ts";

/** RFC 9110, section 11.1: the scheme is case-insensitive. */
const bearerScheme = /^bearer(?: +|$)/i;

/** No client can depend on longer tokens: nginx accepts by default 8 KiB a line. */
const tokenCharsMax = 8_192;

/** RFC 6750, section 2.1. JWTs skip this check (0.6 µs for 1 KB): a verified one is well-formed. */
const token68 = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Whether a text can be sent as a bearer token. */
export function isBearerToken(text: string): boolean {
  return text.length <= tokenCharsMax && token68.test(text);
}

const missingToken = new ApiError(
  "missingToken",
  "The request carries no bearer token; send the header Authorization: Bearer <ACCESS_TOKEN>.",
);

const tooLong = invalidToken(
  `it has more than ${tokenCharsMax} characters. Get a shorter one, such as a JWT with fewer claims.`,
);

export class Authenticator {
  readonly #tokens: TokenCache;
  readonly #jwts: JwtVerifier | undefined;

  /** @param jwts undefined without an identity provider: a JWT is then an unknown token. */
  constructor(tokens: TokenCache, jwts: JwtVerifier | undefined) {
    this.#tokens = tokens;
    this.#jwts = jwts;
  }

  /**
   * Authenticates a request by its bearer token (RFC 6750, section 2.1). Returns a promise only if
   * the store or the provider must be queried, or a signature verified: an `await` for every
   * request cost 2 % of the throughput.
   */
  authenticate(headers: Headers): AuthResult | Promise<AuthResult> {
    const authorization = headers.get("authorization") ?? "";
    const caller = this.#tokens.recall(authorization);
    if (caller !== undefined) return caller;

    const scheme = bearerScheme.exec(authorization)?.[0];
    // RFC 6750, section 3.1: credentials of another scheme are not an invalid token.
    if (scheme === undefined) return missingToken;

    const token = authorization.slice(scheme.length);
    if (token.length > tokenCharsMax) return tooLong;
    if (this.#jwts !== undefined && isJwt(token)) return this.#jwts.verify(token);
    return token68.test(token)
      ? this.#tokens.lookup(token, authorization, hasLongBody(headers))
      : unknownToken;
  }
}

/** RFC 7515, section 3.1: three parts. An encrypted JWT has five. */
function isJwt(token: string): boolean {
  return !token.startsWith(tokenPrefix) && token.split(".").length === 3;
}
