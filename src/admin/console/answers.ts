// What the console sends, and the headers that keep its page to itself.

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

/** Any answer of the console. */
export function answer(
  body: string | Uint8Array<ArrayBuffer> | AsyncIterable<Uint8Array> | null,
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
  return answer(text, status, { "Content-Type": "application/json", ...headers });
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
