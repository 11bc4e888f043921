// Verifies an identity provider's JWTs (RFC 7519, 8725 and 9068), and caches the verified ones.

import {
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from "jose";
import { ApiError, invalidToken, unavailable } from "../base/errors.ts";
import type { Emit } from "../base/server-event.ts";
import { printable } from "../base/terminal.ts";
import { type AuthResult, type Caller, creatorName } from "./caller.ts";
import { type IdentityProvider, ProviderKeys } from "./jwks.ts";
import { hashToken } from "./token.ts";
import { waitingMax } from "./token-cache.ts";

/** RFC 8725, section 3.1. Never `none`; never HS256, where the public key would be the secret. */
const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** RFC 9068, section 2.1, and the `typ` of older providers. A logout token has another one. */
const accessTokenTypes = /^(?:application\/)?(?:at\+)?jwt$/i;

/** The tolerance for `nbf`, as the provider's clock may be ahead of ours. `exp` has none. */
const clockSecondsMax = 10;

/** The last second of the year 9999. A later `exp` is in milliseconds by mistake, or Infinity. */
const expSecondsMax = 253_402_300_799;

/** Claims are checked after the signature: only the holder of a genuine token learns about them. */
const badSignature = invalidToken(
  "it is malformed, or no key of the identity provider has signed it. Get a new one from the identity provider.",
);
const expired = invalidToken("it has expired. Get a new one from the identity provider.");
const notYetValid = invalidToken(
  "it is not valid yet, by its nbf and the clock of this server. Try again later.",
);
/** RFC 7519, section 4.1.2: a number or a list would make one caller of many. */
const subjectNotText = invalidToken("its sub is not a string. Configure the identity provider to issue one.");
const subjectUnstorable = (claim: string) =>
  invalidToken(
    `its ${claim} has more than ${subjectCharactersMax} characters, or one that is not printable. Get a token with another ${claim} from the identity provider.`,
  );
const claimMismatch = invalidToken(
  "its claims are not valid for this service; request a token issued for it from the identity provider.",
);
const keysUnavailable = unavailable("The identity provider is unreachable, so the token cannot be verified");
const keysTooRecent = unavailable(
  "The identity provider was just asked for its keys, and the token's is not among them",
);
const tooManyVerifications = unavailable("The server has too many new tokens to verify");

/** Every store can keep and index so many, and OpenID Connect allows a subject 255. */
const subjectCharactersMax = 512;

/** 4 MB, at about 400 bytes each. Beyond it the oldest is evicted, and verified again when used. */
const verifiedTokensMax = 10_000;

/**
 * Tokens that wait for the provider because their key is unknown. They are counted apart: anybody
 * can make up key ids, and a provider that hangs must not delay tokens whose keys are known.
 */
const keyLookupsMax = 64;

interface VerifiedToken {
  readonly caller: Caller;
  /** Milliseconds since the epoch; from then on the token is not accepted. */
  readonly expiresAt: number;
}

export class JwtVerifier {
  readonly #provider: IdentityProvider;
  readonly #keys: ProviderKeys;
  readonly #now: () => number;
  /** Keyed by hash. Emptied when a key is gone: none outlives its key. */
  #verified = new Map<string, VerifiedToken>();
  #verifications = 0;
  #keyLookups = 0;

  /** Starts to fetch the keys. Until the first fetch succeeds, JWTs are `unavailable`. */
  constructor(provider: IdentityProvider, now: () => number, emit: Emit) {
    this.#provider = provider;
    this.#keys = new ProviderKeys(provider, emit, () => {
      this.#verified = new Map();
    });
    this.#now = now;
  }

  stop(): void {
    this.#keys.stop();
  }

  /**
   * Returns a promise only for a token that is not cached: its signature takes about 0.1 ms.
   *
   * @param hasLongBody whether the request keeps memory busy while it waits.
   */
  verify(token: string, hasLongBody: boolean): AuthResult | Promise<AuthResult> {
    const hash = hashToken(token);
    const verified = this.#verified.get(hash);
    if (verified !== undefined) return this.#checkExpiry(verified);
    if (!token.split(".").every(isCanonicalBase64url)) return badSignature;
    // A signature waits for a thread, and its request holds what arrives of its body.
    return this.#verifications < waitingMax(hasLongBody)
      ? this.#verifyNew(token, hash)
      : tooManyVerifications;
  }

  async #verifyNew(token: string, hash: string): Promise<AuthResult> {
    const result = await this.#verifyOnce(token, hash);
    if (result !== "unknownKey") return result;
    if (this.#keyLookups === keyLookupsMax) return tooManyVerifications;
    this.#keyLookups++;
    const found = await this.#keys.look(keyIdOf(token)).finally(() => this.#keyLookups--);
    if (found === "unreachable") return keysUnavailable;
    if (found === "tooSoon") return keysTooRecent;
    const second = await this.#verifyOnce(token, hash);
    return second === "unknownKey" ? badSignature : second;
  }

  async #verifyOnce(token: string, hash: string): Promise<AuthResult | "unknownKey"> {
    const { issuer, audience, claims = [] } = this.#provider;
    const cache = this.#verified;
    this.#verifications++;
    try {
      const jwt = await verifyWithKeys(token, this.#keys.getKey, {
        algorithms,
        issuer,
        audience,
        requiredClaims: ["exp"],
        clockTolerance: clockSecondsMax,
        currentDate: new Date(this.#now()),
      });
      const expiresAt = expiryOf(jwt);
      if (expiresAt === undefined || !hasClaims(jwt.payload, claims)) return claimMismatch;
      const identity = identityOf(jwt.payload, issuer);
      if (identity instanceof ApiError) return identity;
      const verified = { caller: { ...identity, creator: undefined }, expiresAt };
      cache.set(hash, verified);
      const [oldest] = cache.keys();
      if (cache.size > verifiedTokensMax && oldest !== undefined) cache.delete(oldest);
      return this.#checkExpiry(verified);
    } catch (error) {
      return error instanceof errors.JWKSNoMatchingKey ? "unknownKey" : errorOfJose(error);
    } finally {
      this.#verifications--;
    }
  }

  /** Exact to the millisecond, without the clock tolerance of the other claims. */
  #checkExpiry({ caller, expiresAt }: VerifiedToken): AuthResult {
    return this.#now() < expiresAt ? caller : expired;
  }
}

/**
 * Like jwtVerify, but tries each key that fits: a token may lack a `kid`, and a set may have one
 * twice. The provider's set bounds the work, at about 0.1 ms a key.
 */
async function verifyWithKeys(
  token: string,
  getKey: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, getKey, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, options);
      } catch (failure) {
        // Another key may still fit, also after one that cannot be used, such as RSA of 1,024 bits.
        if (failure instanceof errors.JWTClaimValidationFailed || failure instanceof errors.JWTExpired)
          throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** The key that a token names; undefined if it names none. */
function keyIdOf(token: string): string | undefined {
  return decodeProtectedHeader(token).kid;
}

/**
 * RFC 7515, section 2: base64url with nothing else in it. jose ignores white space, padding and
 * surplus bits in a signature, so one token could be spelled, verified and cached in many ways.
 */
function isCanonicalBase64url(part: string): boolean {
  return Buffer.from(part, "base64url").toString("base64url") === part;
}

/**
 * When a token expires, in milliseconds since the epoch; undefined if a claim or header that jose
 * does not check is wrong for an access token of this service.
 */
function expiryOf({ payload, protectedHeader }: JWTVerifyResult): number | undefined {
  const { exp = Number.POSITIVE_INFINITY, cnf } = payload;
  const { typ = "JWT" } = protectedHeader;
  if (exp > expSecondsMax || typeof typ !== "string" || !accessTokenTypes.test(typ)) return undefined;
  // RFC 7800: the holder must prove possession of a key, for which this interface has no means.
  return cnf === undefined ? exp * 1_000 : undefined;
}

/** Whether a token has each claim of a list such as ["repository_owner=acme"], or a list with it. */
function hasClaims(payload: JWTPayload, claims: readonly string[]): boolean {
  return claims.every((claim) => {
    const [, name = "", wanted] = /^([^=]+)=(.+)$/.exec(claim) ?? [];
    const found = Object.hasOwn(payload, name) ? payload[name] : undefined;
    const values: readonly unknown[] = Array.isArray(found) ? found : [found];
    return values.some(
      (value) => /^(?:string|number|boolean)$/.test(typeof value) && String(value) === wanted,
    );
  });
}

/**
 * The caller: the subject, or else the client (RFC 9068, section 2.2; OpenID Connect Core 1.0,
 * section 2). A client that has the name of a subject is somebody else, so its issuer says which
 * claim it is from.
 */
function identityOf(
  payload: JWTPayload,
  provider: string,
): Pick<Caller, "key" | "name" | "issuer"> | ApiError {
  if (payload.sub !== undefined && typeof payload.sub !== "string") return subjectNotText;
  const claim = ["sub", "client_id", "azp"].find((each) => isText(payload[each]));
  if (claim === undefined) return callerOf(provider, `no subject at ${provider}`);
  const name = String(payload[claim]);
  if (name.length > subjectCharactersMax || printable(name) !== name || !name.isWellFormed())
    return subjectUnstorable(claim);
  return callerOf(name, claim === "sub" ? provider : `${claim} at ${provider}`);
}

/** A caller is one for its rate, its keys and its plants: all are counted by the creator's name. */
function callerOf(name: string, issuer: string): Pick<Caller, "key" | "name" | "issuer"> {
  return { key: `jwt ${creatorName({ name, issuer })}`, name, issuer };
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function errorOfJose(error: unknown): ApiError {
  if (error instanceof errors.JWTExpired) return expired;
  if (!(error instanceof errors.JWTClaimValidationFailed)) return badSignature;
  return error.claim === "nbf" && error.reason === "check_failed" ? notYetValid : claimMismatch;
}
