// Finds out from the header fields of a request who sends it, or why it is rejected.

import { ApiError } from "../base/errors.ts";
import { hasLongBody } from "../base/long-body.ts";
import { type Access, bearerAccess, isScopes } from "../contract/access.ts";
import { type AuthResult, anonymous, type Caller } from "./caller.ts";
import type { JwtVerifier } from "./jwt-verifier.ts";
import { tokenPrefix } from "./token.ts";
import { type TokenCache, unknownToken } from "./token-cache.ts";

/** RFC 9110, section 11.1: the scheme is case-insensitive. */
const bearerScheme = /^bearer(?: +|$)/i;

const basicScheme = /^basic +(?=\S)/i;

/** RFC 6750, section 2.1. JWTs, which are long, skip this check: a verified one is well-formed. */
const token68 = /^[A-Za-z0-9\-._~+/]+=*$/;

/** Whether a text can be sent as a bearer token. */
export function isBearerToken(text: string): boolean {
  return token68.test(text);
}

/** A way in which an operation takes a token: its name, the header field to send, and its challenge. */
type Way = readonly [name: string, field: string, challenge: string];

/** @param reason of the challenge. RFC 9110, section 11.6.1, requires one; API keys have no registered scheme. */
function waysOf({ bearer, basic, keyHeader }: Access, reason = ""): readonly Way[] {
  // Many describe a bearer token as a key in its field.
  const hasOwnField = keyHeader !== undefined && !(bearer && /^authorization$/i.test(keyHeader));
  const ways: readonly (Way | false)[] = [
    bearer && ["bearer token", "Authorization: Bearer <ACCESS_TOKEN>", `Bearer realm="plantstore"${reason}`],
    // RFC 7617, section 2.
    basic !== undefined && [
      "token",
      "Authorization: Basic with any user and the token as the password",
      'Basic realm="plantstore", charset="UTF-8"',
    ],
    hasOwnField && [
      "API key",
      `${keyHeader}: <ACCESS_TOKEN>`,
      `ApiKey realm="plantstore", header="${keyHeader}"${reason}`,
    ],
  ];
  return ways.filter((way) => way !== false);
}

function nameOf([first, ...others]: readonly Way[]): string {
  return first === undefined || others.length > 0 ? "token" : first[0];
}

function challengeOf(ways: readonly Way[]): string {
  return ways.map(([, , challenge]) => challenge).join(", ");
}

/** `missingToken`, with the header fields that the operation takes a token in. */
export function missingTokenError(access: Access): ApiError {
  const ways = waysOf(access);
  const fields = ways.map(([, field]) => field).join(" or ");
  const message = `The request carries no ${nameOf(ways)}; send the header ${fields}.`;
  return new ApiError("missingToken", message, { challenge: challengeOf(ways) });
}

const missingToken = missingTokenError(bearerAccess);

/** `invalidToken`, in the words of the operation. */
export function invalidTokenError({ message, details }: ApiError, access: Access): ApiError {
  const ways = waysOf(access, ', error="invalid_token"');
  const named = message.replace("bearer token", nameOf(ways));
  return new ApiError("invalidToken", named, { ...details, challenge: challengeOf(ways) });
}

/** The error of a caller whose token lacks scopes that the operation requires (RFC 6750, section 3.1). */
export function checkScopes(
  { scopes: held }: Pick<Caller, "scopes">,
  { scopes: lists }: Access,
): ApiError | undefined {
  if (lists === undefined || held === undefined) return undefined;
  if (lists.some((required) => required.every((scope) => held.includes(scope)))) return undefined;
  const wanted = lists.map((required) => required.join(" "));
  // A contract may name what is none, and what no header field can have.
  const scope = wanted.find(isScopes);
  const message = `The token lacks a scope that the operation requires; send one with ${wanted.join(", or with ")}.`;
  const challenge = `Bearer realm="plantstore", error="insufficient_scope"${scope === undefined ? "" : `, scope="${scope}"`}`;
  return new ApiError("insufficientScope", message, { challenge });
}

export class Authenticator {
  readonly #tokens: TokenCache;
  readonly #jwts: JwtVerifier | undefined;
  /** The callers without a token are one. */
  readonly #anonymous: Caller = { ...anonymous, creator: undefined };

  /** @param jwts undefined without an identity provider: a JWT is then an unknown token. */
  constructor(tokens: TokenCache, jwts: JwtVerifier | undefined) {
    this.#tokens = tokens;
    this.#jwts = jwts;
  }

  /**
   * Authenticates a request by its bearer token (RFC 6750, section 2.1), or by Basic credentials or an
   * API key where the operation takes them. Returns a promise only if the store or the provider must
   * be queried, or a signature verified: an `await` costs a create more than the look at its token.
   */
  authenticate(headers: Headers, access: Access): AuthResult | Promise<AuthResult> {
    const { keyHeader, basic } = access;
    if (access.isOpen && !hasToken(headers, access)) return this.#anonymous;
    if (keyHeader === undefined && basic === undefined) return this.#authenticateBearer(headers);
    const authorization = headers.get("authorization") ?? "";
    if (basic === "any" && basicScheme.test(authorization)) return this.#anonymous;
    if (basic !== undefined && basicScheme.test(authorization))
      return this.#authenticateOther(passwordOf(authorization), headers, access);
    if (access.bearer && bearerScheme.test(authorization)) return this.#authenticateBearer(headers);
    const key = keyHeader === undefined ? null : headers.get(keyHeader);
    if (key === null) return missingTokenError(access);
    const { scheme } = access;
    return this.#authenticateOther(scheme === undefined ? key : withoutScheme(key, scheme), headers, access);
  }

  #authenticateBearer(headers: Headers): AuthResult | Promise<AuthResult> {
    const authorization = headers.get("authorization") ?? "";
    const caller = this.#tokens.callerByCredentials(authorization);
    if (caller !== undefined) return caller;

    const scheme = bearerScheme.exec(authorization)?.[0];
    // RFC 6750, section 3.1: credentials of another scheme are not an invalid token.
    if (scheme === undefined) return missingToken;

    return this.#authenticateToken(authorization.slice(scheme.length), authorization, headers);
  }

  /** Authenticates a request by a token that is no bearer token. */
  #authenticateOther(token: string, headers: Headers, access: Access): AuthResult | Promise<AuthResult> {
    // The line end keeps these apart from Authorization fields, which have none, in the cache.
    const credentials = `\n${token}`;
    const result =
      this.#tokens.callerByCredentials(credentials) ?? this.#authenticateToken(token, credentials, headers);
    const named = (each: AuthResult) =>
      each instanceof ApiError && each.code === "invalidToken" ? invalidTokenError(each, access) : each;
    return result instanceof Promise ? result.then(named) : named(result);
  }

  /** @param credentials the text by which the token is remembered. */
  #authenticateToken(token: string, credentials: string, headers: Headers): AuthResult | Promise<AuthResult> {
    if (this.#jwts !== undefined && isJwt(token)) return this.#jwts.verify(token, hasLongBody(headers));
    return token68.test(token)
      ? this.#tokens.callerByToken(token, credentials, hasLongBody(headers))
      : unknownToken;
  }
}

/** RFC 7617: the token is the password, and the user may be any. */
function passwordOf(authorization: string): string {
  const pair = Buffer.from(authorization.replace(basicScheme, ""), "base64").toString();
  return /^[^:]*:(.*)$/s.exec(pair)?.[1] ?? "";
}

/** The credentials without the word before them, such as the "Token" of Django REST. */
function withoutScheme(credentials: string, scheme: string): string {
  const [word = "", ...rest] = credentials.split(/ +/);
  return word.toLowerCase() === scheme.toLowerCase() ? rest.join(" ") : credentials;
}

/** Whether a request has a token in a field in which the operation takes one. */
function hasToken(headers: Headers, { bearer, basic, keyHeader }: Access): boolean {
  const authorization = headers.get("authorization") ?? "";
  return (
    (bearer && bearerScheme.test(authorization)) ||
    (basic !== undefined && basicScheme.test(authorization)) ||
    (keyHeader !== undefined && headers.has(keyHeader))
  );
}

/** RFC 7515, section 3.1: three parts. An encrypted JWT has five. */
function isJwt(token: string): boolean {
  return !token.startsWith(tokenPrefix) && token.split(".").length === 3;
}
