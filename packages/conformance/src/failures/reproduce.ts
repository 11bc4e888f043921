// Writes commands that send the requests of a failure again by curl, with the token as $TOKEN.

import { singleQuoted } from "../../../../src/base/shell.ts";
import type { SentRequest } from "../wire/exchange.ts";
import { placesOf, redact, type Transcript } from "./transcript-text.ts";

export interface Reproduction {
  readonly url: URL;
  readonly token: string;
  readonly secrets: ReadonlySet<string>;
}

/** Fields that curl sends itself, or that make no difference. */
const leftOut = /^(?:user-agent: |accept: application\/json$)/i;

/** A longer argument is not accepted by Linux, and not read by anybody. */
const argumentBytesMax = 2_000;

/** A line for each request. Requests that were sent at the same time are one line. */
export function reproduce(transcripts: readonly Transcript[], to: Reproduction): string[] {
  const lines = transcripts.map(({ request }) => curlLine(request, to));
  return transcripts.some(({ isConcurrent }) => isConcurrent) ? [`${lines.join(" & ")} & wait`] : lines;
}

function curlLine({ method, target, headers, body: bytes }: SentRequest, to: Reproduction): string {
  const body = Buffer.from(bytes).toString("latin1");
  // Without a body curl sends GET.
  const isImplied = method === (body === "" ? "GET" : "POST");
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  const sentFields = fields.filter((field) => !leftOut.test(field));
  if (body !== "" && !fields.some((field) => /^content-type:/i.test(field))) sentFields.push("Content-Type:");
  const isShort = body.length <= argumentBytesMax;
  return [
    `curl -i ${isImplied ? "" : `-X ${method} `}${quote(to.url.origin + target, to)}`,
    ...sentFields.map((field) => `-H ${quote(field, to)}`),
    ...(body === "" ? [] : isShort ? [`--data-raw ${quote(body, to)}`] : ["--data-binary @BODY"]),
    ...(isShort ? [] : [`# BODY has ${body.length} bytes`]),
  ].join(" ");
}

/**
 * A word of the shell. Bytes beyond ASCII and control characters are escaped as bash reads them.
 */
function escapeWord(text: string): string {
  if (/^[ -~]*$/.test(text)) return singleQuoted(text);
  const escaped = text
    .replaceAll(/[\\']/g, "\\$&")
    .replaceAll(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`);
  return `$'${escaped}'`;
}

/** Quotes a text, with the token as $TOKEN and other secrets as ***. */
function quote(text: string, { token, secrets }: Reproduction): string {
  const others = new Set([...secrets].filter((secret) => !secret.includes(token)));
  return text
    .split(placesOf(token))
    .map((part) => (part === "" ? "" : escapeWord(redact(part, others))))
    .join('"$TOKEN"');
}
