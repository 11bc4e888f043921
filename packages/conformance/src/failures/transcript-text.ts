// Shows requests and responses as text in reports: on lines, without the token, and not too long.

import { decodeUtf8 } from "../../../../src/json/utf8.ts";
import { headerOf, parseResponse } from "../wire/response-parser.ts";

/** The bytes that were sent on a connection, and those that came back. */
export interface Transcript {
  readonly sent: Uint8Array;
  readonly received: Uint8Array;
  /** Whether the bytes are another thing than one request as curl sends it. */
  readonly isRaw: boolean;
  /** Whether it was sent together with the others. */
  readonly isConcurrent: boolean;
}

/** The maximum length of a request or response in a report. */
const charactersMax = 2_000;

/** Matches where the next response on a connection follows a body. */
const nextResponse = /(?<=[^\n])(?=HTTP\/1\.[01] \d{3})/g;

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

/** Lines of bytes without control characters. Bytes that are not UTF-8 are shown as \xNN. */
export function transcriptLines(bytes: Uint8Array, secrets: ReadonlySet<string>): string[] {
  if (bytes.length === 0) return [];
  // Redacted before it is cut: a part of a token is a secret, too.
  const text = redact(decodeBytes(withoutChunks(bytes)), secrets);
  const shown = text.slice(0, charactersMax);
  const rest = text.length - shown.length;
  const lines = shown
    .replaceAll(nextResponse, "\n")
    .replace(/\r?\n$/, "")
    .split(/\r?\n/)
    .map((line) => printableText(line));
  return rest === 0 ? lines : [...lines, `… ${rest.toLocaleString("en")} more characters`];
}

/** A response with its body instead of its chunks; as it is if it has none, or is malformed. */
function withoutChunks(bytes: Uint8Array): Uint8Array {
  const received = Buffer.from(bytes);
  const field = received.toString("latin1").search(/^transfer-encoding:/im);
  const expected = { method: "POST", isEnded: true, bodyBytesMax: received.length };
  const parsed = field === -1 ? undefined : parseResponse(received, expected);
  if (parsed === undefined || "problem" in parsed) return bytes;
  if (headerOf(parsed.part, "transfer-encoding") === undefined) return bytes;
  const bodyStart = received.indexOf("\r\n\r\n", field) + 4;
  // The rest is another response.
  return Buffer.concat([received.subarray(0, bodyStart), parsed.part.body, received.subarray(parsed.end)]);
}

/** A text on one line, without control characters and secrets. */
export function reportText(text: string, secrets: ReadonlySet<string>): string {
  return printableText(redact(text, secrets));
}

/** Control characters, separators of lines, and characters that change the direction of text. */
const unprintable = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

function printableText(text: string): string {
  return text.replaceAll(unprintable, escapeCharacter);
}

export function escapeCharacter(character: string): string {
  return `\\u{${character.codePointAt(0)?.toString(16)}}`;
}

function decodeBytes(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes, "kept");
  if (text !== undefined) return text;
  return Buffer.from(bytes)
    .toString("latin1")
    .replaceAll(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}
