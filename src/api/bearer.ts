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

type Judged = TokenRecord | ContractError;

// RFC 9110, section 11.1: the scheme is case-insensitive. RFC 6750: the token is a token68.
const bearerToken = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;
const bearerScheme = /^bearer(?: |$)/i;

/**
 * The token's record if the request's credentials are accepted; else why not, `unavailable` if nobody can tell.
 * A promise only where the store must be asked: a pause for every request would cost 2 % of the throughput.
 */
export function judgeCredentials(headers: Headers, tokens: KnownTokens): Judged | Promise<Judged> {
  const authorization = headers.get("authorization");
  // RFC 6750, section 3.1: another scheme is no attempt at this one.
  if (authorization === null || !bearerScheme.test(authorization)) return noCredentials();

  const token = bearerToken.exec(authorization)?.[1];
  if (token === undefined) return notAccepted();
  const accepted = tokens.accepted(token);
  return accepted instanceof Promise ? accepted.then(judge) : judge(accepted);
}

function judge(accepted: Awaited<ReturnType<KnownTokens["accepted"]>>): Judged {
  if (accepted === "unavailable") return unavailable("The store cannot be asked for this token");
  return accepted ?? notAccepted();
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
