// Responses of the admin listener, with headers that protect its pages.

/** Scripts, requests and forms of this origin only, and no frame around the page. */
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

export const securityHeaders = {
  "Content-Security-Policy": contentSecurityPolicy,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
};

type Headers = Readonly<Record<string, string>>;

export function respond(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  status: number,
  headers: Headers,
): Response {
  return new Response(body, {
    status,
    headers: { ...securityHeaders, "Cache-Control": "no-store", ...headers },
  });
}

/** @param message a sentence for the operator. */
export function respondError(status: number, message: string, headers: Headers = {}): Response {
  return respond(JSON.stringify({ message }), status, { "Content-Type": "application/json", ...headers });
}

export function respondText(status: number, line: string): Response {
  return respond(`${line}\n`, status, { "Content-Type": "text/plain; charset=utf-8" });
}
