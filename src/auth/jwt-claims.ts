// Checks the claims of a JWT that say whom it is for, and says which one is wrong.

import type { JWTPayload } from "jose";
import { ApiError, invalidToken } from "../base/errors.ts";
import { printable } from "../base/terminal.ts";
import type { IdentityProvider } from "./jwks.ts";

/** RFC 9068, section 2.1, and the `typ` of older providers. A logout token has another one. */
const accessTokenTypes = /^(?:application\/)?(?:at\+)?jwt$/i;

/** The last second of the year 9999. A later `exp` is in milliseconds by mistake, or Infinity. */
const expSecondsMax = 253_402_300_799;

/** A claim is quoted up to here. */
const quotedCharactersMax = 200;

/**
 * Returns what is wrong with the claims of a token, apart from its times; undefined for nothing.
 *
 * @param typ the type in its header.
 */
export function checkClaims(
  payload: JWTPayload,
  typ: unknown,
  { issuer, audience, audienceClaim = "aud", claims = [] }: IdentityProvider,
): ApiError | undefined {
  if (payload.iss !== issuer) return wrong("iss", payload.iss, issuer, "--jwt-issuer");
  // RFC 7519, section 4.1.3: an aud that names others is never accepted.
  const names = payload.aud === undefined ? [audienceClaim] : new Set(["aud", audienceClaim]);
  for (const name of names) {
    const found = own(payload, name);
    if (!listOf(found).includes(audience)) return wrong(name, found, audience, "--jwt-audience");
  }
  const { exp, cnf } = payload;
  if (typeof exp !== "number" || exp > expSecondsMax)
    return invalidToken(
      `its exp is ${quoted(exp)}, not a time in seconds before the year 10000. Configure the identity provider to issue one.`,
    );
  if (typ !== undefined && !(typeof typ === "string" && accessTokenTypes.test(typ)))
    return invalidToken(
      `its typ is ${quoted(typ)}, so it is no access token. Request one from the identity provider.`,
    );
  // RFC 7800: the holder must prove possession of a key, for which this interface has no means.
  if (cnf !== undefined)
    return invalidToken(
      "its cnf binds it to a key (DPoP, mutual TLS), which this service cannot check. Request one without it from the identity provider.",
    );
  const missing = claims.find((claim) => !hasClaim(payload, claim));
  return missing === undefined ? undefined : withoutClaim(payload, missing);
}

function wrong(name: string, found: unknown, expected: string, setting: string): ApiError {
  const isSlash = listOf(found).some(
    (each) => typeof each === "string" && each.replace(/\/$/, "") === expected.replace(/\/$/, ""),
  );
  const advice = isSlash
    ? `They differ in the slash at the end: ask the operator to set ${setting} to the text in the tokens.`
    : `Request a token for this service from its identity provider.`;
  return invalidToken(`its ${name} is ${quoted(found)}, not ${quoted(expected)}. ${advice}`);
}

/** Providers that issue tokens to everybody require such claims: strangers do not learn the value. */
function withoutClaim(payload: JWTPayload, claim: string): ApiError {
  const [name, value] = partsOf(claim);
  const found = `its ${name} is ${quoted(own(payload, name))}`;
  const advice = "Request a token for this service from its identity provider.";
  const { code, message } = invalidToken(`${found}, which this service does not accept. ${advice}`);
  return new ApiError(code, message, { logged: invalidToken(`${found}, not ${quoted(value)}.`).message });
}

/** Whether a token has a claim such as "repository_owner=acme", or a list with it. */
function hasClaim(payload: JWTPayload, claim: string): boolean {
  const [name, wanted] = partsOf(claim);
  return listOf(own(payload, name)).some(
    (value) => /^(?:string|number|boolean)$/.test(typeof value) && String(value) === wanted,
  );
}

function partsOf(claim: string): readonly [name: string, value: string] {
  const [, name = "", value = ""] = /^([^=]+)=(.+)$/.exec(claim) ?? [];
  return [name, value];
}

function own(payload: JWTPayload, name: string): unknown {
  return Object.hasOwn(payload, name) ? payload[name] : undefined;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value];
}

/** A claim as JSON, on one line and cut. */
function quoted(value: unknown): string {
  if (value === undefined) return "missing";
  const json = printable(JSON.stringify(value).toWellFormed());
  return json.length > quotedCharactersMax ? `${json.slice(0, quotedCharactersMax)}…` : json;
}
