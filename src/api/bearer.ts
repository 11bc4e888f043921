// Credentials: the bearer token of an Authorization header (RFC 6750, section 2.1).

import type { Authenticator } from "../auth/authenticator.ts";
import type { AuthFailure, AuthResult, Caller } from "../auth/caller.ts";
import { ApiError, unavailable } from "../contract/errors.ts";

const realm = 'Bearer realm="plantstore"';

/** The WWW-Authenticate value that goes with each refusal (RFC 6750, section 3). */
export const challenges = {
  missingToken: realm,
  invalidToken: `${realm}, error="invalid_token"`,
} as const;

// RFC 9110, section 11.1: the scheme is case-insensitive.
const bearerScheme = /^bearer(?: +|$)/i;

/**
 * Who the request is from if its credentials are accepted; else why not, `unavailable` if nobody can tell.
 * A promise only where the credentials need one: a pause for every request would cost 2 % of the throughput.
 */
export function authenticateRequest(
  headers: Headers,
  credentials: Authenticator,
): Caller | ApiError | Promise<Caller | ApiError> {
  const authorization = headers.get("authorization") ?? "";
  const scheme = bearerScheme.exec(authorization)?.[0];
  // RFC 6750, section 3.1: another scheme is no attempt at this one.
  if (scheme === undefined) return missingToken;

  const judged = credentials.authenticate(authorization.slice(scheme.length));
  return judged instanceof Promise ? judged.then(callerOrError) : callerOrError(judged);
}

function callerOrError(judged: AuthResult): Caller | ApiError {
  return typeof judged === "string" ? refusals[judged] : judged;
}

const missingToken = new ApiError(
  "missingToken",
  "The request carries no bearer token; send the header Authorization: Bearer <ACCESS_TOKEN>.",
);

/** What a client is told. Of a JWT's claims only to who has one that the identity provider has really signed. */
const refusals: Readonly<Record<AuthFailure, ApiError>> = {
  unknown: notAccepted("it is unknown, malformed, revoked or expired. Ask the operator for a new one."),
  unverified: notAccepted(
    "it is malformed, or no key of the identity provider has signed it. Get a new one from the identity provider.",
  ),
  expired: notAccepted("it has expired. Get a new one from the identity provider."),
  premature: notAccepted("it is not valid yet, by its nbf and the clock of this server. Try again later."),
  unfit: notAccepted(
    "it is not for this service, by its iss, aud, exp or another claim. Get one from the identity provider that is.",
  ),
  storeUnavailable: unavailable("The store cannot be asked for this token"),
  keysUnavailable: unavailable("The identity provider cannot be asked for the key that signed this token"),
};

function notAccepted(why: string): ApiError {
  return new ApiError("invalidToken", `The bearer token is not accepted: ${why}`);
}
