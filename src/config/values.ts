// Reads the values of settings. Each throws an InvalidArgumentError that says what would be right.

import { InvalidArgumentError } from "commander";
import { parseAddressRange } from "../admin/client-address.ts";
import type { CorsOrigins } from "../api/cors.ts";
import { isConfidential } from "../auth/jwks.ts";
import { isTokenName } from "../auth/token.ts";
import { parseInt64 } from "../contract/int64.ts";
import { parseDurationMs, parseTimestamp } from "../duration.ts";
import { OperatorError } from "../operator-error.ts";
import { assertDatabaseUrl } from "../store/open-store.ts";
import { delimiterNames } from "../transfer/csv.ts";

export function readText(text: string): string {
  if (text === "") throw new InvalidArgumentError("It must not be empty.");
  return text;
}

export function readName(text: string): string {
  if (!isTokenName(text)) {
    throw new InvalidArgumentError("It must be one line of text, without control characters.");
  }
  return text;
}

/** Throws an InvalidArgumentError without the address, which may hold a password. */
export function readDatabase(text: string): string {
  try {
    assertDatabaseUrl(text);
  } catch (error) {
    throw error instanceof OperatorError ? new InvalidArgumentError(error.message) : error;
  }
  return text;
}

/** What the variable of a flag without an argument may say. */
export function readSwitch(text: string): boolean {
  if (/^(?:1|on|true|yes)$/i.test(text)) return true;
  if (/^(?:0|off|false|no|)$/i.test(text)) return false;
  throw new InvalidArgumentError("It must be on or off.");
}

export function readInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };
}

/** One of some words. */
export function readOneOf<const Word extends string>(words: readonly Word[]): (text: string) => Word {
  return (text) => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    throw new InvalidArgumentError(`It must be ${words.slice(0, -1).join(", ")} or ${words.at(-1)}.`);
  };
}

/** By its name, or itself. Not what an id, a quoted cell or a line end is made of, nor what is two bytes in UTF-8. */
export function readDelimiter(text: string): string {
  const named = delimiterNames.get(text);
  if (named !== undefined) return named;
  if (text.length !== 1 || text === "\0" || text > "\x7f" || /[A-Za-z0-9"\-\r\n]/.test(text)) {
    throw new InvalidArgumentError(
      "It must be comma, semicolon, tab, or one ASCII character that is no letter, digit, quote or hyphen.",
    );
  }
  return text;
}

export function readInt64(text: string): bigint {
  const value = parseInt64(text);
  if (value === undefined) throw new InvalidArgumentError("It must be an integer of 64 bits, in digits.");
  return value;
}

/** Argon2id as Bun.password makes it. Another would be refused only when somebody logs in. */
export function readPasswordHash(text: string): string {
  if (!/^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]+\$[A-Za-z0-9+/]+$/.test(text)) {
    throw new InvalidArgumentError(
      'It must be what "plantstore password" prints, whole: a shell needs single quotes around its $ signs.',
    );
  }
  return text;
}

export function readHostNames(text: string): string[] {
  const names = text.split(",").map((name) => name.trim().toLowerCase());
  if (!names.every((name) => /^(?!-)[a-z0-9-]+(?:\.[a-z0-9-]+)*$/.test(name)))
    throw new InvalidArgumentError("It must be names such as console.plants.example, separated by commas.");
  return names;
}

export function readAddressRanges(text: string): string[] {
  const ranges = text.split(",").map((range) => range.trim());
  const wrong = ranges.find((range) => parseAddressRange(range) === undefined);
  if (wrong === undefined) return ranges;
  throw new InvalidArgumentError(
    `It must be addresses or ranges such as 127.0.0.1,10.0.0.0/8,fd00::/8, but not all addresses; ${JSON.stringify(wrong)} is neither.`,
  );
}

export function readBasePath(text: string): string {
  if (!/^(?:\/[A-Za-z0-9\-._~]+)*\/?$/.test(text)) {
    throw new InvalidArgumentError("It must be a path such as /v1, of letters, digits and - . _ ~");
  }
  return text.replace(/\/$/, "");
}

export function readUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new InvalidArgumentError("It must be an address such as https://plants.example/v1.");
  }
  return text.replace(/\/$/, "");
}

/** An issuer as tokens name it, which is compared to the last character: a slash at its end is part of it. */
export function readIssuer(text: string): string {
  if (!isConfidentialUrl(text) || /[?#]/.test(text)) {
    throw new InvalidArgumentError(
      "It must be an address such as https://id.example/realms/plants; http is for loopback addresses alone.",
    );
  }
  return text;
}

/** Without a user or a password: it is shown. */
export function readConfidentialUrl(text: string): string {
  if (!isConfidentialUrl(text)) {
    throw new InvalidArgumentError(
      "It must be an address such as https://id.example/jwks; http is for loopback addresses alone.",
    );
  }
  return text;
}

function isConfidentialUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && isConfidential(url) && url.username === "" && url.password === "";
}

export function readOrigins(text: string): CorsOrigins {
  if (text === "*" || text === "off") return text;
  const origins = text.split(",").map((origin) => origin.trim());
  if (!origins.every((origin) => URL.parse(origin)?.origin === origin)) {
    throw new InvalidArgumentError(
      "It must be *, off, or origins such as https://docs.example separated by commas.",
    );
  }
  return origins;
}

export function parseExpiry(text: string): number | "never" {
  if (text === "never") return text;
  const moment = parseTimestamp(text, Date.now());
  if (moment === undefined)
    throw new InvalidArgumentError("It must be never, or lie ahead and be such as 90d, 12h or 2027-01-31.");
  return moment;
}

export function parseDuration(text: string): string {
  if (Number.isNaN(parseDurationMs(text)))
    throw new InvalidArgumentError("It must be a span of time such as 7d, 12h or 0s.");
  return text;
}
