// Parsers of setting values. Each throws an InvalidValueError for an invalid text.

import { parseAddressRange } from "../../client-address.ts";
import { isBearerToken } from "../../core/auth/authenticator.ts";
import { isTokenName } from "../../core/auth/token.ts";
import { parseInt64 } from "../../core/contract/int64.ts";
import { parseDurationMs, parseTimestamp } from "../../core/duration.ts";
import type { CorsOrigins } from "../../core/http/cors.ts";
import { isConfidential } from "../../core/loopback.ts";
import { OperatorError } from "../../core/operator-error.ts";
import { assertDatabaseUrl } from "../../core/store/open-store.ts";
import { delimiterNames } from "../../operations/csv.ts";

/** The message follows the value: `"99999"` + ` is not an integer from 0 to 65535`. */
export class InvalidValueError extends Error {}

export function parseText(text: string): string {
  if (text === "") throw new InvalidValueError("is empty; give at least one character");
  return text;
}

export function parseTag(text: string): string {
  return text;
}

export function parseTokenName(text: string): string {
  if (!isTokenName(text)) throw new InvalidValueError("is not one line of text without control characters");
  return text;
}

export function parseToken(text: string): string {
  if (!isBearerToken(text))
    throw new InvalidValueError("is not a bearer token: letters, digits and the characters - . _ ~ + /");
  return text;
}

/** Throws an InvalidValueError without the URL, which may contain a password. */
export function parseDatabaseUrl(text: string): string {
  try {
    assertDatabaseUrl(text);
  } catch (error) {
    throw error instanceof OperatorError ? new InvalidValueError(`is invalid: ${error.message}`) : error;
  }
  return text;
}

/** The value of a flag without an argument, as a variable gives it. */
export function parseSwitch(text: string): boolean {
  if (/^(?:1|on|true|yes)$/i.test(text)) return true;
  if (/^(?:0|off|false|no|)$/i.test(text)) return false;
  throw new InvalidValueError("is not on or off");
}

export function integer(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidValueError(`is not an integer from ${min} to ${max}`);
    return value;
  };
}

export const parsePort = integer(0, 65_535);

export function parsePortOrOff(text: string): number | "off" {
  if (text === "off") return text;
  try {
    return parsePort(text);
  } catch {
    throw new InvalidValueError("is not an integer from 0 to 65535, or off");
  }
}

export function oneOf<const Word extends string>(...words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((one) => one === text);
    if (word === undefined)
      throw new InvalidValueError(
        `is not ${new Intl.ListFormat("en-GB", { type: "disjunction" }).format(words)}`,
      );
    return word;
  };
}

/** Excludes the characters of ids, quoted cells and line ends, and those of two bytes in UTF-8. */
export function parseDelimiter(text: string): string {
  const named = delimiterNames.get(text);
  if (named !== undefined) return named;
  if (text.length !== 1 || text === "\0" || text > "\x7f" || /[A-Za-z0-9"\-\r\n]/.test(text)) {
    throw new InvalidValueError(
      "is not comma, semicolon, tab, or one ASCII character other than a letter, digit, quote or hyphen",
    );
  }
  return text;
}

export function parseId(text: string): bigint {
  const value = parseInt64(text);
  if (value === undefined) throw new InvalidValueError("is not a 64-bit integer in decimal digits");
  return value;
}

/** Argon2id as Bun.password makes it. Any other hash would fail only at the first login. */
export function parsePasswordHash(text: string): string {
  if (!/^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.test(text)) {
    throw new InvalidValueError(
      'is not a hash as "plantstore password" prints it; a shell needs single quotes around its $ signs',
    );
  }
  return text;
}

export function parseHostNames(text: string): string[] {
  const names = text.split(",").map((name) => name.trim().toLowerCase());
  if (!names.every((name) => /^(?!-)[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(name)))
    throw new InvalidValueError(
      "is not a list of host names such as console.plants.example, separated by commas",
    );
  return names;
}

export function parseAddressRanges(text: string): string[] {
  const ranges = text.split(",").map((range) => range.trim());
  const invalid = ranges.find((range) => parseAddressRange(range) === undefined);
  if (invalid === undefined) return ranges;
  throw new InvalidValueError(
    `is not a list of addresses or ranges such as 127.0.0.1,10.0.0.0/8,fd00::/8, without the range of all addresses: ${JSON.stringify(invalid)}`,
  );
}

export function parseBasePath(text: string): string {
  if (!/^(?:\/[A-Za-z0-9\-._~]+)*\/?$/.test(text))
    throw new InvalidValueError("is not a path such as /v1, of letters, digits and - . _ ~");
  return text.replace(/\/$/, "");
}

export function parseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidValueError("is not a URL such as https://plants.example/v1");
  return text.replace(/\/$/, "");
}

/** The iss claim is compared exactly, so a slash at its end is kept. */
export function parseIssuer(text: string): string {
  if (!isConfidentialUrl(text) || /[?#]/.test(text)) {
    throw new InvalidValueError(
      "is not a URL such as https://id.example/realms/plants; http is for loopback addresses only",
    );
  }
  return text;
}

export function parseJwksUrl(text: string): string {
  if (!isConfidentialUrl(text)) {
    throw new InvalidValueError(
      "is not a URL such as https://id.example/jwks; http is for loopback addresses only",
    );
  }
  return text;
}

/** A URL without user and password, because it is printed. */
function isConfidentialUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isConfidential(url) && url.username === "" && url.password === "";
}

export function parseOrigins(text: string): CorsOrigins {
  if (text === "*" || text === "off") return text;
  const origins = text.split(",").map((origin) => origin.trim());
  if (!origins.every((origin) => URL.parse(origin)?.origin === origin)) {
    throw new InvalidValueError(
      "is not *, off, or a list of origins such as https://docs.example, separated by commas",
    );
  }
  return origins;
}

/** Milliseconds since the epoch, or never. */
export function parseExpiry(text: string): number | "never" {
  if (text === "never") return text;
  const timestamp = parseTimestamp(text, Date.now());
  if (timestamp === undefined) {
    throw new InvalidValueError(
      "is not never, or a time in the future such as 90d, 12h or 2027-01-31, at most 100 years away",
    );
  }
  return timestamp;
}

/** Milliseconds. */
export function parseDuration(text: string): number {
  const durationMs = parseDurationMs(text);
  if (Number.isNaN(durationMs)) throw new InvalidValueError("is not a duration such as 7d, 12h or 0s");
  return durationMs;
}
