// Verifies an identity provider's JWTs (RFC 7519, 8725 and 9068), and caches the verified ones.

import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
  jwtVerify,
} from "jose";
import { BoundedMap } from "../base/bounded-map.ts";
import { ApiError, invalidToken, unavailable } from "../base/errors.ts";
import type { Emit } from "../base/server-event.ts";
import { printable } from "../base/terminal.ts";
import { scopesOf } from "../contract/access.ts";
import { type AuthResult, type Caller, creatorName } from "./caller.ts";
import { type IdentityProvider, ProviderKeys } from "./jwks.ts";
import { checkClaims } from "./jwt-claims.ts";
import { hashToken } from "./token.ts";
import { waitingMax } from "./token-cache.ts";

/** RFC 8725, section 3.1. Never `none`; never HS256, where the public key would be the secret. */
const algorithms = [
  ...["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
  ...["ES256", "ES384", "ES512", "EdDSA", "Ed25519"],
];

/** The tolerance for `nbf`, as the provider's clock may be ahead of ours. `exp` has none. */
const clockSecondsMax = 10;

/** Claims are checked after the signature: only the holder of a genuine token learns about them. */
const badSignature = invalidToken(
  "it is malformed, or no key of the identity provider has signed it. Get a new one from the identity provider.",
);
const expired = invalidToken("it has expired, by its exp. Get a new one from the identity provider.");
const notYetValid = invalidToken(
  "it is not valid yet, by its nbf and the clock of this server. Try again later.",
);
/** RFC 7519, section 4.1.2: a number or a list would make one caller of many. */
const subjectNotText = invalidToken("its sub is not a string. Configure the identity provider to issue one.");
const subjectUnstorable = (claim: string) =>
  invalidToken(
    `its ${claim} has more than ${subjectCharactersMax} characters, or one that is not printable. Get a token with another ${claim} from the identity provider.`,
  );
const keysUnavailable = unavailable("The identity provider is unreachable, so the token cannot be verified");
const keysTooRecent = unavailable(
  "The identity provider was just asked for its keys, and the token's is not among them",
);
const tooManyVerifications = unavailable("The server has too many new tokens to verify");

/** Every store can keep and index so many, and OpenID Connect allows a subject 255. */
const subjectCharactersMax = 512;

/** 4 MB, at about 400 bytes each. One that is forgotten is verified again when it is used. */
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

const newCache = () => new BoundedMap<string, VerifiedToken>(verifiedTokensMax);

export class JwtVerifier {
  readonly #provider: IdentityProvider;
  readonly #keys: ProviderKeys;
  readonly #now: () => number;
  /** Keyed by hash. Emptied when a key is gone: none outlives its key. */
  #verified = newCache();
  #verifications = 0;
  #keyLookups = 0;

  /** Starts to fetch the keys. Until the first fetch succeeds, JWTs are `unavailable`. */
  constructor(provider: IdentityProvider, now: () => number, emit: Emit) {
    this.#provider = provider;
    this.#keys = new ProviderKeys(provider, emit, () => {
      this.#verified = newCache();
    });
    this.#now = now;
  }

  stop(): void {
    this.#keys.stop();
  }

  /**
   * Returns a promise only for a token that is not cached, whose signature is checked.
   *
   * @param hasLongBody whether the request keeps memory busy while it waits.
   */
  verify(token: string, hasLongBody: boolean): AuthResult | Promise<AuthResult> {
    const hash = hashToken(token);
    const verified = this.#verified.get(hash);
    if (verified !== undefined) return this.#checkExpiry(verified);
    if (!token.split(".").every(isCanonicalBase64url)) return this.#unverified(token, badSignature);
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
    const found = await this.#keys.look(decodeProtectedHeader(token).kid).finally(() => this.#keyLookups--);
    if (found === "unreachable") return keysUnavailable;
    if (found === "tooSoon") return this.#unverified(token, keysTooRecent);
    const second = await this.#verifyOnce(token, hash);
    return second === "unknownKey" ? this.#unverified(token, badSignature) : second;
  }

  async #verifyOnce(token: string, hash: string): Promise<AuthResult | "unknownKey"> {
    const cache = this.#verified;
    this.#verifications++;
    try {
      const jwt = await verifyWithKeys(token, this.#keys.getKey, {
        algorithms,
        clockTolerance: clockSecondsMax,
        currentDate: new Date(this.#now()),
      });
      const { payload, protectedHeader } = jwt;
      const wrong = checkClaims(payload, protectedHeader.typ, this.#provider);
      if (wrong !== undefined) return wrong;
      const identity = identityOf(payload, this.#provider.issuer);
      if (identity instanceof ApiError) return identity;
      const expiresAt = Number(payload.exp) * 1_000;
      const caller = { ...identity, scopes: claimedScopes(payload), creator: undefined };
      const verified = { caller, expiresAt };
      cache.set(hash, verified);
      return this.#checkExpiry(verified);
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return "unknownKey";
      const isGenuine =
        error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed;
      if (!isGenuine) return this.#unverified(token, badSignature);
      const { typ } = decodeProtectedHeader(token);
      return checkClaims(error.payload, typ, this.#provider) ?? errorOfTimes(error);
    } finally {
      this.#verifications--;
    }
  }

  /** Adds to an error, for the log, which claim is wrong: the token may be of another provider. */
  #unverified(token: string, error: ApiError): ApiError {
    let wrong: ApiError | undefined;
    try {
      wrong = checkClaims(decodeJwt(token), decodeProtectedHeader(token).typ, this.#provider);
    } catch {
      // It is no JWT.
    }
    if (wrong === undefined) return error;
    const logged = `${error.message} If it is genuine: ${wrong.details.logged ?? wrong.message}`;
    return new ApiError(error.code, error.message, { ...error.details, logged });
  }

  /** Exact to the millisecond, without the clock tolerance of the other claims. */
  #checkExpiry({ caller, expiresAt }: VerifiedToken): AuthResult {
    return this.#now() < expiresAt ? caller : expired;
  }
}

/**
 * Like jwtVerify, but tries each key that fits: a token may lack a `kid`, and a set may have one
 * twice. The provider's set bounds the work.
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

/**
 * RFC 7515, section 2: base64url with nothing else in it. jose ignores white space, padding and
 * surplus bits in a signature, so one token could be spelled, verified and cached in many ways.
 */
function isCanonicalBase64url(part: string): boolean {
  return Buffer.from(part, "base64url").toString("base64url") === part;
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
  const claim = ["sub", "client_id", "azp"].find(
    (each) => typeof payload[each] === "string" && payload[each],
  );
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

/** The scopes of a token (RFC 9068, section 2.2.3), in `scp` as some providers write them; undefined for none. */
function claimedScopes({ scope, scp }: JWTPayload): string[] | undefined {
  const claimed = scope ?? scp;
  if (claimed === undefined) return undefined;
  const texts = Array.isArray(claimed) ? claimed : [claimed];
  return texts.flatMap((text) => (typeof text === "string" ? scopesOf(text) : []));
}

/** The error of a genuine token whose times are wrong. */
function errorOfTimes(error: errors.JWTExpired | errors.JWTClaimValidationFailed): ApiError {
  if (error instanceof errors.JWTExpired) return expired;
  if (error.claim === "nbf" && error.reason === "check_failed") return notYetValid;
  return invalidToken(`its ${error.claim} is not a number. Configure the identity provider to issue one.`);
}
