// Where an identity provider's keys are, and what is there (OpenID Connect Discovery 1.0; RFC 8414; RFC 7517).

import { isLoopback } from "../loopback.ts";

/** What is fetched of a provider: the keys at an address, or those that its issuer's metadata lead to. */
export interface KeySource {
  /** As the tokens' `iss` has it, to the last character. */
  readonly issuer: string;
  /** Undefined where the issuer's metadata say it. */
  readonly jwksUrl: string | undefined;
}

/** The provider's JSON Web Key Set, as it came. Rejects with an Error that says at which address what was wrong. */
export async function fetchKeySet({ issuer, jwksUrl }: KeySource, signal: AbortSignal): Promise<unknown> {
  const url = jwksUrl ?? (await discoverJwksUrl(issuer, signal));
  const answer = await get(url, signal);
  if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
  return readJson(url, answer);
}

/** Whether nobody on the way can read or change what is fetched from an address. */
export function isConfidential(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return url.protocol === "https:" || (url.protocol === "http:" && isLoopback(host));
}

async function discoverJwksUrl(issuer: string, signal: AbortSignal): Promise<string> {
  const urls = metadataUrls(issuer);
  for (const url of urls) {
    const answer = await get(url, signal);
    if (answer.status >= 400 && answer.status < 500) continue;
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
    return jwksUrlFrom(url, await readJson(url, answer), issuer);
  }
  throw new Error(`there is no metadata at ${urls.join(" or ")}; say with --jwks-url where the keys are`);
}

/** OpenID Connect Discovery 1.0, section 4, puts its path behind the issuer's, RFC 8414, section 3, its own before it. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

function jwksUrlFrom(url: string, metadata: unknown, issuer: string): string {
  const { issuer: named, jwks_uri: jwksUri } = (metadata ?? {}) as Record<string, unknown>;
  // Section 4.3 there, and 3.3 of the RFC: else one tenant of a provider could speak for another.
  if (named !== issuer) {
    throw new Error(`${url} is of the issuer ${JSON.stringify(named)} and not of ${JSON.stringify(issuer)}`);
  }
  const parsed = typeof jwksUri === "string" ? URL.parse(jwksUri) : null;
  if (parsed === null || !isConfidential(parsed)) {
    throw new Error(`${url} has the jwks_uri ${JSON.stringify(jwksUri)}, which is no https address`);
  }
  return parsed.href;
}

/** A redirection is not followed: it could lead to an address that is not confidential. */
async function get(url: string, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, {
      signal,
      redirect: "manual",
      headers: { Accept: "application/json, application/jwk-set+json" },
    });
  } catch (error) {
    throw failed(url, error);
  }
}

async function readJson(url: string, answer: Response): Promise<unknown> {
  try {
    return await answer.json();
  } catch (error) {
    throw failed(url, error);
  }
}

function failed(url: string, error: unknown): Error {
  return new Error(`${url}: ${error instanceof Error ? error.message : error}`, { cause: error });
}
