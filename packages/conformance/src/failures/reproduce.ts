// Writes commands that send the requests of a failure again: curl, which everybody has. The token
// is $TOKEN, and ids are others than those of the run, which may be taken.

import { singleQuoted } from "../../../../src/base/shell.ts";
import { type IdRange, withUnusedIds } from "../plants/ids.ts";
import { placesOf, redact, type Transcript } from "./transcript-text.ts";

export interface Reproduction {
  readonly url: URL;
  readonly token: string;
  readonly secrets: ReadonlySet<string>;
  readonly ranges: readonly IdRange[];
}

/** Fields that curl sends itself, or that make no difference. */
const leftOut = /^(?:host|user-agent|accept: application\/json$|connection: close|content-length)/i;

/** A longer argument is not accepted by Linux, and not read by anybody. */
const argumentBytesMax = 2_000;

/** A line for each request. Requests that were sent at the same time are one line. */
export function reproduce(transcripts: readonly Transcript[], to: Reproduction): string[] {
  const lines = transcripts
    .filter(({ sent }) => sent.length > 0)
    .map((transcript) => (transcript.isRaw ? rawLine(transcript, to) : curlLine(transcript, to)));
  return transcripts.some(({ isConcurrent }) => isConcurrent) ? [`${lines.join(" & ")} & wait`] : lines;
}

function curlLine({ sent }: Transcript, to: Reproduction): string {
  const text = Buffer.from(sent).toString("latin1");
  const headEnd = text.indexOf("\r\n\r\n");
  const [start = "", ...fields] = text.slice(0, headEnd).split("\r\n");
  const [method = "", target = ""] = start.split(" ");
  const body = withUnusedIds(text.slice(headEnd + 4), to.ranges);
  // Without a body curl sends GET.
  const isImplied = method === (body === "" ? "GET" : "POST");
  const sentFields = fields.filter((field) => !leftOut.test(field));
  if (body !== "" && !fields.some((field) => /^content-type:/i.test(field))) sentFields.push("Content-Type:");
  const isShort = body.length <= argumentBytesMax;
  return [
    ...(isShort ? [] : [`${longText(body, to)} |`]),
    `curl -i ${method === "HEAD" ? "-I " : isImplied ? "" : `-X ${method} `}${quote(to.url.origin + target, to)}`,
    ...sentFields.map((field) => `-H ${quote(field, to)}`),
    ...(body === "" ? [] : isShort ? [`--data-raw ${quote(body, to)}`] : ["--data-binary @-"]),
  ].join(" ");
}

/** Bytes that curl would not send: malformed, pipelined or in chunks. */
function rawLine({ sent }: Transcript, to: Reproduction): string {
  const { protocol, hostname, port } = to.url;
  const text = withUnusedIds(Buffer.from(sent).toString("latin1"), to.ranges);
  return protocol === "https:"
    ? `${longText(text, to)} | openssl s_client -quiet -connect ${hostname}:${port || 443}`
    : `${longText(text, to)} | curl -s -m 5 telnet://${hostname}:${port || 80}`;
}

/** Prints a text, with what repeats itself a thousand times as a loop. */
function longText(text: string, to: Reproduction): string {
  const parts = text.split(/((.{1,6}?)\2{499,})/s);
  const commands: string[] = [];
  // Each match adds two parts: all of it, and what is repeated.
  for (let index = 0; index < parts.length; index += 3) {
    const [plain = "", repeated = "", unit = ""] = parts.slice(index, index + 3);
    if (plain !== "") commands.push(`printf ${quote(plain.replaceAll("%", "%%"), to, escapePrintf)}`);
    if (repeated !== "") commands.push(`printf '${unit}%.0s' $(seq ${repeated.length / unit.length})`);
  }
  return commands.length === 1 ? `${commands}` : `{ ${commands.join("; ")}; }`;
}

const escapePrintf = (text: string) =>
  singleQuoted(
    text
      .replaceAll("\\", "\\\\")
      .replaceAll("\r", "\\r")
      .replaceAll("\n", "\\n")
      .replaceAll(/[^ -~]/g, (byte) =>
        byte === "\\" ? byte : `\\${byte.charCodeAt(0).toString(8).padStart(3, "0")}`,
      ),
  );

/**
 * A word of the shell. Bytes beyond ASCII and control characters are escaped as bash reads them.
 */
const escapeWord = (text: string) =>
  /^[ -~]*$/.test(text)
    ? singleQuoted(text)
    : `$'${text
        .replaceAll(/[\\']/g, "\\$&")
        .replaceAll(/[^ -~]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`)}'`;

/** Quotes a text, with the token as $TOKEN and other secrets as ***. */
function quote(text: string, { token, secrets }: Reproduction, escapePart = escapeWord): string {
  const others = new Set([...secrets].filter((secret) => !secret.includes(token)));
  return text
    .split(placesOf(token))
    .map((part) => (part === "" ? "" : escapePart(redact(part, others))))
    .join('"$TOKEN"');
}
