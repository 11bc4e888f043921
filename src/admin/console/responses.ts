// What the console sends, and the headers that keep its page to itself.

import { OutgoingBodies, pieceBytes } from "../../api/outgoing-bodies.ts";

/** No script but the page's own, no request to anywhere else, no frame around it. */
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

const everywhere = {
  "Content-Security-Policy": contentSecurityPolicy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** Texts and plants that nobody reads are not heaped up. */
const outgoing = new OutgoingBodies({ bytesMax: 64 * 2 ** 20, sendMsMax: 120_000 });

/** Any answer of the console. */
export function answer(
  body: string | Blob | ReadableStream<Uint8Array> | null,
  status: number,
  headers: Record<string, string>,
): Response {
  return new Response(body, { status, headers: { ...everywhere, "Cache-Control": "no-store", ...headers } });
}

export function json(value: unknown, status = 200, headers: Record<string, string> = {}): Response {
  return jsonOf(jsonText(value), status, headers);
}

/** An answer whose text is JSON already. */
export function jsonOf(text: string, status = 200, headers: Record<string, string> = {}): Response {
  const all = { "Content-Type": "application/json", ...headers };
  if (text.length < pieceBytes) return answer(text, status, all);
  const body = outgoing.owned(new TextEncoder().encode(text));
  return body === undefined ? tooManyOutgoing() : answer(body, status, all);
}

/** An answer in pieces, each made when its reader wants it. @param pieceBytesMax what one of them may have. */
export function streamed(
  pieces: AsyncIterable<Uint8Array>,
  pieceBytesMax: number,
  headers: Record<string, string>,
): Response {
  const body = outgoing.stream(pieces, pieceBytesMax);
  return body === undefined ? tooManyOutgoing() : answer(body, 200, headers);
}

function tooManyOutgoing(): Response {
  const message = "Too many large answers are on their way; try again in a second.";
  return json({ message }, 503, { "Retry-After": "1" });
}

/** Ids are exact as text alone. */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_, one) => (typeof one === "bigint" ? String(one) : one));
}

/** An answer that says in a sentence what is wrong. */
export function refuse(status: number, message: string): Response {
  return json({ message }, status);
}

/** Thrown where a request cannot be what the page sends. */
export class BadRequest extends Error {}
