// Parses the values of settings. Each parser throws an InvalidValueError for an invalid text.

import { parseAddressRange } from "../../admin-pages/client-address.ts";
import { isBearerToken } from "../../auth/authenticator.ts";
import { isTokenName } from "../../auth/token.ts";
import { parseDurationMs, parseExpiry as parseExpiryFrom, parseSince } from "../../base/duration.ts";
import { isConfidential, isIpv6 } from "../../base/loopback.ts";
import { OperatorError } from "../../base/operator-error.ts";
import { isScopes } from "../../contract/access.ts";
import type { Collection } from "../../contract/contract.ts";
import type { PlantId } from "../../contract/plant-id.ts";
import type { CorsOrigins } from "../../http/cors.ts";
import { parseInt64 } from "../../json/int64.ts";
import { operationNames as otherOperations } from "../../plants/operation-settings.ts";
import { storeAt } from "../../store/open-store.ts";

/** The message follows the value: `"99999"` + ` is not an integer from 0 to 65535`. */
export class InvalidValueError extends Error {}

/** Makes a parser of a function that returns undefined for an invalid text. */
function parser<Value>(parse: (text: string) => Value | undefined, problem: string): (text: string) => Value {
  return (text) => {
    const value = parse(text);
    if (value === undefined) throw new InvalidValueError(problem);
    return value;
  };
}

/** A parser that returns the text as it is. */
function textThat(isValid: (text: string) => boolean, problem: string): (text: string) => string {
  return parser((text) => (isValid(text) ? text : undefined), problem);
}

/** A parser of a list that is separated by commas. */
function listOf(isValid: (item: string) => boolean, problem: string): (text: string) => string[] {
  return parser((text) => {
    const items = text.split(",").map((item) => item.trim());
    return items.every(isValid) ? items : undefined;
  }, problem);
}

export const parseText = textThat((text) => text !== "", "is empty; give at least one character");

export const parseTokenName = textThat(isTokenName, "is not one line of text that a terminal shows as it is");

export const parseScopes = textThat(
  isScopes,
  "is not a list of scopes with a space between two, without double quotes and backslashes",
);

export const parseToken = textThat(
  isBearerToken,
  "is not a bearer token: letters, digits and the characters - . _ ~ + /",
);

/** Throws an InvalidValueError without the URL, which may contain a password. */
export function parseDatabaseUrl(text: string): string {
  try {
    storeAt(text);
  } catch (error) {
    throw error instanceof OperatorError ? new InvalidValueError(`is invalid: ${error.message}`) : error;
  }
  return text;
}

/** The value of a flag without an argument, as a variable gives it. */
export const parseSwitch = parser((text) => {
  if (/^(?:1|on|true|yes)$/i.test(text)) return true;
  return /^(?:0|off|false|no|)$/i.test(text) ? false : undefined;
}, "is not on or off");

export function parseInteger(min: number, max: number): (text: string) => number {
  return parser((text) => {
    const value = Number(text);
    return /^\d+$/.test(text) && value >= min && value <= max ? value : undefined;
  }, `is not an integer from ${min} to ${max}`);
}

export const parsePort = parseInteger(0, 65_535);

export const parsePortOrOff = (text: string) => (text === "off" ? text : parsePort(text));

export function oneOf<const Word extends string>(...words: readonly Word[]): (text: string) => Word {
  // Without Intl.ListFormat, whose first use would slow each start.
  const list = `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;
  return parser((text) => words.find((word) => word === text), `is not ${list}`);
}

/** The id of a plant, given to a command. Throws an OperatorError. */
export function parseId({ id: { type } }: Collection, text: string): PlantId {
  // Accepts ids that only an earlier contract of the store allowed.
  const id = type.kind.name === "integer" ? parseInt64(text) : type.parse(text);
  if (id !== undefined) return id;
  const expected = type.kind.name === "integer" ? "a 64-bit integer such as 42 or -7" : type.expected;
  throw new OperatorError(`the id ${JSON.stringify(text)} is not ${expected}`, 2);
}

/** Argon2id as Bun.password makes it. Any other hash would fail only at the first login. */
export const parsePasswordHash = textThat(
  (text) => /^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.test(text),
  'is not a hash as "plantstore password" prints it; a shell needs single quotes around its $ signs',
);

export const parseFieldNames = listOf((name) => name !== "", "has an empty name between commas");

/** Claims of JWTs, one a line. */
export const parseClaims = parser((text) => {
  const claims = text.split("\n");
  return claims.every((claim) => /^[^=]+=.+$/.test(claim)) ? claims : undefined;
}, "is not a claim and its value, such as repository_owner=acme");

const parseRenameList = listOf(
  (text) => /^[^=]+=[^=]+$/.test(text),
  "is not a list such as phone=telephone,/parcels=/packages",
);

/** The new names by the old ones. */
export function parseRenames(text: string): ReadonlyMap<string, string> {
  return new Map(parseRenameList(text).map((each) => each.split("=") as [string, string]));
}

const parseNames = listOf(
  (name) => /^(?!-)[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(name),
  "is not a list of host names such as console.plants.example, separated by commas",
);

export function parseHostNames(text: string): string[] {
  return parseNames(text.toLowerCase());
}

export const parseAddressRanges = listOf(
  (range) => parseAddressRange(range) !== undefined,
  "is not a list of addresses or ranges such as 127.0.0.1,10.0.0.0/8,fd00::/8, without the range of all addresses",
);

export const parseBasePath = parser(
  (text) => (/^(?:\/[A-Za-z0-9\-._~]+)*\/?$/.test(text) ? text.replace(/\/$/, "") : undefined),
  "is not a path such as /v1, of letters, digits and - . _ ~",
);

/** A URL may hold a password only where it is a secret. */
export const parseUrl = parser(
  (text) => (/^https?:$/.test(URL.parse(text)?.protocol ?? "") ? text.replace(/\/$/, "") : undefined),
  "is not a URL such as https://plants.example/v1",
);

/** The URL is shown to clients. */
export const parsePublicUrl = parser((text) => {
  const { username, password } = URL.parse(text) ?? {};
  return username === "" && password === "" ? parseUrl(text) : undefined;
}, "is not a URL such as https://plants.example/v1, without user and password");

/**
 * An address or a name. A URL's host cannot be 999.1.1.1, because its last part shows that it is an
 * address; but it can be *.
 */
export const parseHost = textThat(
  (text) =>
    isIpv6(text) || (/^[\w.-]+$/.test(text) && URL.parse(`http://${text}/`)?.hostname === text.toLowerCase()),
  "is not an address such as 127.0.0.1 or ::1, a host name, or for all addresses 0.0.0.0 or ::",
);

/** The iss claim is compared exactly, so a slash at its end is kept. */
export const parseIssuer = textThat(
  (text) => isConfidentialUrl(text) && !/[?#]/.test(text),
  "is not a URL such as https://id.example/realms/plants; http is for loopback addresses only",
);

export const parseJwksUrl = textThat(
  isConfidentialUrl,
  "is not a URL such as https://id.example/jwks; http is for loopback addresses only",
);

/** A URL without user and password, because it is printed. */
function isConfidentialUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isConfidential(url) && url.username === "" && url.password === "";
}

const parseOriginList = listOf(
  (origin) => URL.parse(origin)?.origin === origin,
  "is not *, off, or a list of origins such as https://docs.example, separated by commas",
);

const operationNames: readonly string[] = ["create", ...otherOperations];

/** Operations by their names. The create is always one of them. */
export const parseOperations = parser(
  (text) => {
    const names = text.split(",").map((name) => name.trim());
    const isKnown = (name: string) => operationNames.includes(name);
    return names.includes("create") && names.every(isKnown) ? [...new Set(names)] : undefined;
  },
  `is not create, or create with some of ${operationNames.slice(1).join(", ")}, separated by commas`,
);

export function parseOrigins(text: string): CorsOrigins {
  return text === "*" || text === "off" ? text : parseOriginList(text);
}

/** Milliseconds since the epoch; null for never. */
export const parseExpiry = parser<number | null>(
  (text) => (text === "never" ? null : parseExpiryFrom(text, Date.now())),
  "is not never, a duration such as 90d or 12h, or a date in the future such as 2027-01-31, within 100 years",
);

/** Milliseconds since the epoch. */
export const parseSinceTime = parser(
  (text) => parseSince(text, Date.now()),
  "is not a duration such as 7d or 12h, or a date or time in UTC such as 2027-01-31 or 2027-01-31T12:00Z",
);

/** Milliseconds. */
export const parseDuration = parser((text) => {
  const durationMs = parseDurationMs(text);
  return Number.isNaN(durationMs) ? undefined : durationMs;
}, "is not a duration such as 7d, 12h or 0s");
