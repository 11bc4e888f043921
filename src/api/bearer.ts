// Credentials: the bearer token of an Authorization header (RFC 6750, section 2.1).

import { ContractError, unavailable } from "../contract/errors.ts";
import type { TokenRecord } from "../store/token-store.ts";
import type { KnownTokens } from "../tokens/known-tokens.ts";

const realm = 'Bearer realm="plantstore"';

/** The WWW-Authenticate value that goes with each refusal (RFC 6750, section 3). */
export const challenges = {
  noCredentials: realm,
  credentialsNotAccepted: `${realm}, error="invalid_token"`,
} as const;

// RFC 9110, section 11.1: the scheme is case-insensitive. RFC 6750: the token is a token68.
const bearerToken = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const bearerScheme = /^bearer(?: |$)/i;

/** The token's record if the request's credentials are accepted; else why not, `unavailable` if nobody can tell. */
export async function judgeCredentials(
  headers: Headers,
  tokens: KnownTokens,
): Promise<TokenRecord | ContractError> {
  const authorization = headers.get("authorization");
  // RFC 6750, section 3.1: another scheme is no attempt at this one.
  if (authorization === null || !bearerScheme.test(authorization)) return noCredentials();

  const token = bearerToken.exec(authorization)?.[1];
  if (token === undefined) return notAccepted();
  const accepted = await tokens.accepted(token);
  return accepted === "unavailable"
    ? unavailable("The store cannot be asked for this token")
    : (accepted ?? notAccepted());
}

function noCredentials(): ContractError {
  return new ContractError(
    "noCredentials",
    "The request carries no bearer token; send the header Authorization: Bearer <ACCESS_TOKEN>.",
  );
}

function notAccepted(): ContractError {
  return new ContractError(
    "credentialsNotAccepted",
    "The bearer token is not accepted: it is unknown, malformed, revoked or expired. Ask the operator for a new one.",
  );
}
