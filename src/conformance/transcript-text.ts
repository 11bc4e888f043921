// Failures with their requests and responses as text for reports: on lines, without the token, and
// not too long.

import { decodeUtf8 } from "../core/contract/utf8.ts";

/** One request and what came back. */
export interface Transcript {
  readonly sent: Uint8Array;
  readonly received: Uint8Array;
  /** Why what was received is not a response. */
  readonly problem: string | undefined;
}

/** A violation of a rule, with the requests that led to it, oldest first. */
export interface RuleFailure {
  /** The case of a rule that has several. */
  readonly case: string | undefined;
  readonly message: string;
  /** The lines of each request and of what came back; none where there were no bytes. */
  readonly requests: readonly {
    readonly sent: readonly string[];
    readonly received: readonly string[];
    readonly problem: string | undefined;
  }[];
  /** The earlier requests, which are not reported. */
  readonly omitted: number;
}

const requestsReportedMax = 4;

export function describeFailure(
  label: string | undefined,
  message: string,
  transcripts: readonly Transcript[],
  secrets: ReadonlySet<string>,
): RuleFailure {
  return {
    case: label && reportText(label, secrets),
    message: reportText(message, secrets),
    requests: transcripts.slice(-requestsReportedMax).map(({ sent, received, problem }) => ({
      sent: transcriptLines(sent, secrets),
      received: transcriptLines(received, secrets),
      problem: problem && reportText(problem, secrets),
    })),
    omitted: Math.max(0, transcripts.length - requestsReportedMax),
  };
}

/** The maximum length of a request or response in a report. */
const charactersMax = 2_000;

/** Matches where the next message on a connection follows a body. */
const nextMessage = /(?<=[^\nA-Z])(?=(?:HTTP\/1\.[01] \d{3}|[A-Z]{3,7} \/\S* HTTP\/1\.[01])[^\n]*\r\n)/g;

/** Replaces every secret by ***. The longest come first: one may contain another. */
function redact(text: string, secrets: ReadonlySet<string>): string {
  return [...secrets]
    .filter((secret) => secret !== "")
    .toSorted((one, other) => other.length - one.length)
    .reduce((redacted, secret) => redacted.replaceAll(secret, "***"), text);
}

/** Lines of bytes without control characters. Bytes that are not UTF-8 are shown as \xNN. */
export function transcriptLines(bytes: Uint8Array, secrets: ReadonlySet<string>): string[] {
  if (bytes.length === 0) return [];
  // Redacted before it is cut: a part of a token is a secret, too.
  const text = redact(decodeBytes(bytes), secrets);
  const shown = text.slice(0, charactersMax);
  const rest = text.length - shown.length;
  // Looked for only in what is shown: a pattern with [^\n]* takes quadratic time on bytes of a
  // server's choice.
  const lines = shown
    .replaceAll(nextMessage, "\n")
    .replace(/\r?\n$/, "")
    .split(/\r?\n/)
    .map((line) => printableText(line));
  return rest === 0 ? lines : [...lines, `… ${rest.toLocaleString("en")} more characters`];
}

/** A text on one line, without control characters and secrets. */
export function reportText(text: string, secrets: ReadonlySet<string>): string {
  return printableText(redact(text, secrets));
}

/** Control characters, separators of lines, and characters that change the direction of text. */
const unprintable = /[\p{Cc}\p{Cs}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

function printableText(text: string): string {
  return text.replaceAll(unprintable, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
}

function decodeBytes(bytes: Uint8Array): string {
  const text = decodeUtf8(bytes, "kept");
  if (text !== undefined) return text;
  return Buffer.from(bytes)
    .toString("latin1")
    .replaceAll(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}
