// Writes texts of requests and responses in reports: on one line, and without the token.

import type { HttpResponse, SentRequest } from "../wire/exchange.ts";

/** A request, and its response if there was one. */
export interface Transcript {
  readonly request: SentRequest;
  readonly response: HttpResponse | undefined;
  /** Whether it was sent together with the others. */
  readonly isConcurrent: boolean;
}

/** A shorter token, such as "wrong", may be a part of the words of a report. */
const secretLengthMin = 16;

/** Replaces every secret by ***. The longest come first: one may contain another. */
export function redact(text: string, secrets: ReadonlySet<string>): string {
  return [...secrets]
    .filter((secret) => secret !== "")
    .toSorted((one, other) => other.length - one.length)
    .reduce((redacted, secret) => redacted.replaceAll(placesOf(secret), "***"), text);
}

/** Matches a secret, a short one only where it is a word. */
export function placesOf(secret: string): RegExp {
  const escaped = secret.replaceAll(/[$()*+.?[\\\]^{|}]/g, "\\$&");
  return new RegExp(secret.length >= secretLengthMin ? escaped : `(?<![A-Za-z])${escaped}(?![A-Za-z])`, "g");
}

/** A text on one line, without control characters and secrets. */
export function reportText(text: string, secrets: ReadonlySet<string>): string {
  return redact(text, secrets).replaceAll(unprintable, escapeCharacter);
}

/** Control characters, separators of lines, and characters that change the direction of text. */
const unprintable = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

export function escapeCharacter(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}
