// Reads how callers of an operation identify themselves from its security requirements.

import { type Access, bearerAccess, scopesOf } from "../../contract/access.ts";
import { isObject, type Json } from "../../json/json-values.ts";
import { type Place, readable } from "../document/place.ts";

/**
 * Reads the requirements of an operation, or else of the whole description, of which a request meets
 * one (OpenAPI 3.1, section 4.8.30). Notes the ones that are not accepted.
 */
export function readAccess(operation: Place): Access {
  const { place, access, accepted, refused, unchecked } = requirementsAt(operation);
  const instead = accepted.length === 0 ? "; a bearer token is needed instead" : "";
  for (const name of refused) place.note(`the security of ${name} is not accepted${instead}`);
  for (const name of unchecked) place.note(`the role ${name} is not checked: every token has it`);
  return access;
}

/**
 * Reads them of an operation that is not served, whose notes would concern nobody: a bearer token where
 * they cannot be read.
 */
export function accessWithoutNotes(operation: Place): Access {
  return readable(() => requirementsAt(operation).access) ?? bearerAccess;
}

function requirementsAt(operation: Place) {
  const { document, isLenient } = operation;
  const own = operation.own("security");
  const place = own.value === undefined ? document.own("security") : own;
  const schemes = document.at("components", "securitySchemes");
  const found = readRequirements(place.value, (name) => schemes.at(name).object);
  const { access } = found;
  // A sandbox takes any password.
  const basic = access.basic !== undefined && isLenient ? { basic: "any" as const } : {};
  return { ...found, place, access: { ...access, ...basic } };
}

/**
 * The requirements that the server can check (accepted), the schemes of those that it cannot
 * (refused), and the roles of schemes that have no scopes (unchecked).
 *
 * @param requirements undefined where none are described, so that every request is served.
 */
export function readRequirements(requirements: unknown, schemeOf: (name: string) => Json | undefined) {
  const described = Array.isArray(requirements) ? requirements.filter(isObject) : [];
  const accepted: Json[] = [];
  const refused = new Set<string>();
  const unchecked = new Set<string>();
  const scopes: string[][] = [];
  let word: string | undefined;
  let { bearer, basic, keyHeader, isOpen }: Access = {
    bearer: false,
    basic: undefined,
    keyHeader: undefined,
    isOpen: described.length === 0,
  };
  for (const requirement of described) {
    const [name, ...others] = Object.keys(requirement);
    const scheme = name === undefined ? undefined : schemeOf(name);
    const header = headerOf(scheme);
    if (name === undefined) isOpen = true;
    else if (others.length === 0 && isBearer(scheme)) bearer = true;
    else if (others.length === 0 && isHttp(scheme, "basic")) basic = "token";
    else if (others.length === 0 && header !== undefined && (keyHeader ?? header) === header) {
      keyHeader = header;
      // Many describe a bearer token as a key in this field.
      if (/^authorization$/i.test(header)) {
        bearer = true;
        // As drf-spectacular writes it.
        word ??= /\bprefix "([\w-]+)"/.exec(String(scheme?.description))?.[1];
      }
    } else {
      refused.add([name, ...others].join(" with "));
      continue;
    }
    accepted.push(requirement);
    // In YAML a scheme without its list is null.
    const required = Object.values(requirement)
      .flatMap((each) => each ?? [])
      .map(String);
    const hasScopes = isOfTokens(name === undefined ? undefined : schemeOf(name));
    scopes.push(hasScopes ? required.flatMap(scopesOf) : []);
    if (!hasScopes) for (const role of required) unchecked.add(role);
  }
  const needsScopes = scopes.length > 0 && scopes.every((each) => each.length > 0);
  // An operation whose only schemes are refused is not open to everybody.
  const access =
    bearer || basic !== undefined || keyHeader !== undefined || isOpen
      ? {
          bearer,
          keyHeader,
          ...(basic !== undefined && { basic }),
          ...(word !== undefined && { scheme: word }),
          isOpen,
          ...(needsScopes && { scopes }),
        }
      : bearerAccess;
  return { access, accepted, refused: [...refused], unchecked: [...unchecked] };
}

/** The access tokens of OAuth 2 and OpenID Connect are bearer tokens. */
function isBearer(scheme: Json | undefined): boolean {
  return isOfTokens(scheme) || isHttp(scheme, "bearer");
}

/** Whether a scheme has scopes. */
function isOfTokens(scheme: Json | undefined): boolean {
  return scheme?.type === "oauth2" || scheme?.type === "openIdConnect";
}

function isHttp(scheme: Json | undefined, word: string): boolean {
  return scheme?.type === "http" && String(scheme.scheme).toLowerCase() === word;
}

/** The header field of an API key; undefined for another scheme. */
function headerOf(scheme: Json | undefined): string | undefined {
  return scheme?.type === "apiKey" && scheme.in === "header" && isHeaderName(scheme.name)
    ? scheme.name
    : undefined;
}

/** Whether a value is the name of a header field (RFC 9110, section 5.6.2): Headers throws for another. */
export function isHeaderName(name: unknown): name is string {
  return typeof name === "string" && /^[!#$%&'*+.^_`|~\w-]+$/.test(name);
}
