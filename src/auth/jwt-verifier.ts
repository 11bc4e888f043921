// Judges the JWTs of an identity provider (RFC 7519, 8725 and 9068), and remembers those that it has verified.

import { errors, type JWTPayload, type JWTVerifyResult, jwtVerify } from "jose";
import type { AuthFailure, AuthResult, Caller } from "./caller.ts";
import { JwksCache } from "./jwks-cache.ts";
import type { KeySet, VerifiedToken } from "./key-set.ts";
import type { KeySource } from "./oidc-discovery.ts";
import { hashToken } from "./token.ts";

/** Whose JWTs are accepted. */
export interface IdentityProvider extends KeySource {
  /** What `aud` must be, or hold. */
  readonly audience: string;
  /** How old the provider's keys may become before they are fetched again. */
  readonly keysAgeMsMax: number;
}

/** RFC 8725, section 3.1. Never `none`, and never HS256 and its like: there the public key would be the secret. */
const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** RFC 9068, section 2.1, and what providers write that were there before it. A logout token has another. */
const accessTokenTypes = /^(?:application\/)?(?:at\+)?jwt$/i;

/** How far the provider's clock may be ahead of ours: `nbf` may lie ahead by so much. `exp` has no tolerance. */
const clockSecondsMax = 10;

/** The last second of the year 9999. An `exp` behind it is in milliseconds by mistake, or Infinity. */
const expSecondsMax = 253_402_300_799;

export class JwtVerifier {
  readonly #provider: IdentityProvider;
  readonly #keys: JwksCache;
  readonly #now: () => number;
  readonly #observeFailure: (error: unknown) => void;

  constructor(provider: IdentityProvider, now: () => number, observeFailure: (error: unknown) => void) {
    this.#provider = provider;
    this.#keys = new JwksCache(provider, provider.keysAgeMsMax, observeFailure);
    this.#now = now;
    this.#observeFailure = observeFailure;
  }

  /** Begins to fetch the provider's keys. Until it has some, nobody can tell about a token. */
  start(): void {
    this.#keys.start();
  }

  /** Stops fetching; resolves when nothing is under way. */
  stop(): Promise<void> {
    return this.#keys.stop();
  }

  /** A promise only for a token that was not verified yet: then its signature is checked, in some 0.1 ms. */
  authenticate(token: string): AuthResult | Promise<AuthResult> {
    const hash = hashToken(token);
    const verified = this.#keys.current.verified(hash);
    return verified === undefined ? this.#judgeNew(token, hash) : this.#judgeTime(verified);
  }

  async #judgeNew(token: string, hash: string): Promise<AuthResult> {
    if (!token.split(".").every(isCanonicalBase64url)) return "unverified";
    const judged = await this.#verify(token, hash, this.#keys.current);
    if (judged !== "unknownKey") return judged;

    const newer = await this.#keys.newer();
    if (newer === undefined) return "keysUnavailable";
    const judgedAgain = await this.#verify(token, hash, newer);
    return judgedAgain === "unknownKey" ? "unverified" : judgedAgain;
  }

  async #verify(token: string, hash: string, keys: KeySet): Promise<AuthResult | "unknownKey"> {
    const { issuer, audience } = this.#provider;
    try {
      const verified = verifiedFrom(
        await jwtVerify(token, keys.keyOf, {
          algorithms,
          issuer,
          audience,
          requiredClaims: ["exp"],
          clockTolerance: clockSecondsMax,
          currentDate: new Date(this.#now()),
        }),
        issuer,
      );
      if (verified === "unfit") return verified;
      keys.remember(hash, verified);
      return this.#judgeTime(verified);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return "unknownKey";
      if (isOfKeys(error)) this.#observeFailure(error);
      return refusalOf(error);
    }
  }

  /** To the millisecond, and without the tolerance that the check of the other claims has. */
  #judgeTime({ caller, expiresAt }: VerifiedToken): AuthResult {
    return this.#now() < expiresAt ? caller : "expired";
  }
}

/**
 * RFC 7515, section 2: base64url without anything else in it. jose skips white space, padding and surplus bits in a
 * signature, so that a caller could spell one token in any number of ways, each to be verified and remembered.
 */
function isCanonicalBase64url(part: string): boolean {
  return Buffer.from(part, "base64url").toString("base64url") === part;
}

function verifiedFrom(
  { payload, protectedHeader }: JWTVerifyResult,
  issuer: string,
): VerifiedToken | "unfit" {
  const { exp = Number.POSITIVE_INFINITY, cnf } = payload;
  const { typ = "JWT" } = protectedHeader;
  if (exp > expSecondsMax || typeof typ !== "string" || !accessTokenTypes.test(typ)) return "unfit";
  // RFC 7800: such a token is only for who can prove that it has a key, which nobody is asked for here.
  if (cnf !== undefined) return "unfit";
  return { caller: callerOf(payload, issuer), expiresAt: exp * 1_000 };
}

/** The subject; where there is none the client (RFC 9068, section 2.2; OpenID Connect Core 1.0, section 2). */
function callerOf(payload: JWTPayload, issuer: string): Caller {
  for (const claim of ["sub", "client_id", "azp"]) {
    const name = payload[claim];
    if (typeof name === "string" && name !== "") return { key: `jwt ${issuer} ${claim} ${name}`, name };
  }
  return { key: `jwt ${issuer}`, name: issuer };
}

/** A failure that is not the token's: a key of the provider cannot be used. */
function isOfKeys(error: unknown): boolean {
  return !(error instanceof errors.JOSEError) || error instanceof errors.JWKSInvalid;
}

/** The claims are judged after the signature, so what is said of them is said to those who have a real token. */
function refusalOf(error: unknown): AuthFailure {
  if (error instanceof errors.JWTExpired) return "expired";
  if (!(error instanceof errors.JWTClaimValidationFailed)) return "unverified";
  return error.claim === "nbf" && error.reason === "check_failed" ? "premature" : "unfit";
}
