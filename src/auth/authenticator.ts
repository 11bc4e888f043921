// Finds out from the header fields of a request who sends it, or why it is rejected.

import { ApiError } from "../base/errors.ts";
import { hasLongBody } from "../base/long-body.ts";
import type { Access } from "../contract/access.ts";
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

const missingToken = new ApiError(
  "missingToken",
  "The request carries no bearer token; send the header Authorization: Bearer <ACCESS_TOKEN>.",
);

/** `missingToken`, with the header field that the operation takes a token in. */
export function missingTokenError(access: Access): ApiError {
  const { bearer, basic, keyHeader } = access;
  if (isBearerOnly(access)) return missingToken;
  const headers = [
    ...(bearer ? ["Authorization: Bearer <ACCESS_TOKEN>"] : []),
    ...(basic !== undefined ? ["Authorization: Basic with any user and the token as the password"] : []),
    ...(hasOwnField(access) ? [`${keyHeader}: <ACCESS_TOKEN>`] : []),
  ];
  const message = `The request carries no ${nameOf(access)}; send the header ${headers.join(" or ")}.`;
  return new ApiError("missingToken", message, { challenge: challengeOf(access) });
}

/** `invalidToken`, in the words of an API key where the operation takes no bearer token. */
export function invalidTokenError(error: ApiError, access: Access): ApiError {
  if (isBearerOnly(access)) return error;
  const challenge = challengeOf(access, ', error="invalid_token"');
  return new ApiError("invalidToken", error.message.replace("bearer token", nameOf(access)), {
    ...error.details,
    challenge,
  });
}

/** The error of a caller whose token lacks scopes that the operation requires (RFC 6750, section 3.1). */
export function checkScopes(
  { scopes: held }: Pick<Caller, "scopes">,
  { scopes: lists }: Access,
): ApiError | undefined {
  if (lists === undefined || held === undefined) return undefined;
  if (lists.some((required) => required.every((scope) => held.includes(scope)))) return undefined;
  const wanted = lists.map((required) => required.join(" "));
  const message = `The token lacks a scope that the operation requires; send one with ${wanted.join(", or with ")}.`;
  const challenge = `Bearer realm="plantstore", error="insufficient_scope", scope="${wanted[0]}"`;
  return new ApiError("insufficientScope", message, { challenge });
}

function isBearerOnly(access: Access): boolean {
  const { bearer, basic, keyHeader } = access;
  return basic === undefined && (keyHeader === undefined || (bearer && !hasOwnField(access)));
}

/** Whether an API key has another field than bearer tokens. */
function hasOwnField({ bearer, keyHeader }: Access): boolean {
  return keyHeader !== undefined && !(bearer && /^authorization$/i.test(keyHeader));
}

function nameOf({ bearer, basic }: Access): string {
  return bearer || basic !== undefined ? "token" : "API key";
}

/** RFC 9110, section 11.6.1, requires a challenge; API keys have no registered scheme. */
function challengeOf(access: Access, reason = ""): string {
  const { bearer, basic, keyHeader } = access;
  return [
    ...(bearer ? [`Bearer realm="plantstore"${reason}`] : []),
    // RFC 7617, section 2.
    ...(basic !== undefined ? ['Basic realm="plantstore", charset="UTF-8"'] : []),
    ...(hasOwnField(access) ? [`ApiKey realm="plantstore", header="${keyHeader}"${reason}`] : []),
  ].join(", ");
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
    if (basic !== undefined && basicScheme.test(authorization))
      return this.#authenticateBasic(headers, authorization, access);
    if (access.bearer && bearerScheme.test(authorization)) return this.#authenticateBearer(headers);
    return keyHeader === undefined
      ? missingTokenError(access)
      : this.#authenticateKey(headers, keyHeader, access);
  }

  /** RFC 7617: the token is the password, and the user may be any. */
  #authenticateBasic(
    headers: Headers,
    authorization: string,
    access: Access,
  ): AuthResult | Promise<AuthResult> {
    if (access.basic === "any") return this.#anonymous;
    const [, password = ""] =
      /^[^:]*:(.*)$/s.exec(Buffer.from(authorization.replace(basicScheme, ""), "base64").toString()) ?? [];
    return this.#authenticateOther(password, headers, access);
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

  #authenticateKey(headers: Headers, keyHeader: string, access: Access): AuthResult | Promise<AuthResult> {
    const sent = headers.get(keyHeader);
    if (sent === null) return missingTokenError(access);
    const key = access.scheme === undefined ? sent : withoutScheme(sent, access.scheme);
    return this.#authenticateOther(key, headers, access);
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
