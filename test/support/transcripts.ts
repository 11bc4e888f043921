// Requests and responses as a run of the conformance rules records them.

import type { Transcript } from "../../packages/conformance/src/failures/transcript-text.ts";

export const bytesOf = (text: string) => Buffer.from(text, "latin1");

export const token = "pst_secret";

/** The server to which the commands of a report send requests. */
export const target = {
  url: new URL("http://127.0.0.1:8080/v1"),
  token,
  secrets: new Set([token, "secret", ""]),
  ranges: [{ from: 10_000_000_000n, to: 10_000_000_999n, unused: 500n, format: "int64" as const }],
};

/** A create with a body, whose characters are bytes. */
export const post = (body: string) =>
  `POST /v1/plants HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

export function transcript(sent: string, more: Partial<Transcript> = {}): Transcript {
  return { sent: bytesOf(sent), response: undefined, isRaw: false, isConcurrent: false, ...more };
}
