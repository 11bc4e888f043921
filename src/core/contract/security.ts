// How callers of an operation identify themselves, read from its security requirements.

import { isObject, type Json } from "./schema/schemas.ts";

/** Where an operation takes a token. */
export interface Access {
  /** Whether the token may be sent as a bearer token (RFC 6750). */
  readonly bearer: boolean;
  /** The header field of an API key, which may hold the same tokens; undefined for none. */
  readonly keyHeader: string | undefined;
  /** Whether a request without a token is served. */
  readonly isOpen: boolean;
}

export const bearerAccess: Access = { bearer: true, keyHeader: undefined, isOpen: false };

interface Security {
  readonly access: Access;
  /** The requirements that the server can check. */
  readonly accepted: readonly Json[];
  /** The schemes that it does not accept. */
  readonly refused: readonly string[];
}

/**
 * Reads the requirements of an operation, of which a request meets one (OpenAPI 3.1, section
 * 4.8.30).
 *
 * @param requirements undefined where none are described, so that every request is served.
 */
export function readSecurity(requirements: unknown, schemeOf: (name: string) => Json | undefined): Security {
  const described = Array.isArray(requirements) ? requirements.filter(isObject) : [];
  if (described.length === 0)
    return { access: { bearer: false, keyHeader: undefined, isOpen: true }, accepted: [], refused: [] };
  const accepted: Json[] = [];
  const refused = new Set<string>();
  let { bearer, keyHeader, isOpen }: Access = { bearer: false, keyHeader: undefined, isOpen: false };
  for (const requirement of described) {
    const [name, ...others] = Object.keys(requirement);
    const scheme = name === undefined ? undefined : schemeOf(name);
    const header = headerOf(scheme);
    if (name === undefined) isOpen = true;
    else if (others.length === 0 && isBearer(scheme)) bearer = true;
    else if (others.length === 0 && header !== undefined && (keyHeader ?? header) === header) {
      keyHeader = header;
      // Many describe a bearer token as a key in this field.
      bearer ||= /^authorization$/i.test(header);
    } else {
      refused.add([name, ...others].join(" with "));
      continue;
    }
    accepted.push(requirement);
  }
  // An operation whose only schemes are refused is not open to everybody.
  const access = bearer || keyHeader !== undefined || isOpen ? { bearer, keyHeader, isOpen } : bearerAccess;
  return { access, accepted, refused: [...refused] };
}

/** The access tokens of OAuth 2 and OpenID Connect are bearer tokens. */
function isBearer(scheme: Json | undefined): boolean {
  const isAccessToken = scheme?.type === "oauth2" || scheme?.type === "openIdConnect";
  return isAccessToken || (scheme?.type === "http" && /^bearer$/i.test(String(scheme.scheme)));
}

/** The header field of an API key; undefined for another scheme. */
function headerOf(scheme: Json | undefined): string | undefined {
  if (scheme?.type !== "apiKey" || scheme.in !== "header") return undefined;
  // RFC 9110, section 5.6.2: Headers throws for another name.
  return typeof scheme.name === "string" && /^[!#$%&'*+.^_`|~\w-]+$/.test(scheme.name)
    ? scheme.name
    : undefined;
}

/**
 * The header field in which a program sends a token, and what goes before the token; undefined for
 * none.
 */
export function tokenField({
  bearer,
  keyHeader,
}: Access): readonly [name: string, prefix: string] | undefined {
  if (bearer) return ["Authorization", "Bearer "];
  return keyHeader === undefined ? undefined : [keyHeader, ""];
}
