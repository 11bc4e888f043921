// Makes the responses of the console and of the sandbox's control, with headers that protect their
// pages.

import { OperatorError } from "../base/operator-error.ts";

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

/** @param body a generator is read at the pace of the client. */
export function respond(
  body: string | AsyncGenerator<string> | null,
  status: number,
  headers: Headers,
): Response {
  // Bun accepts a generator; the types of the DOM, with which the page is checked, do not.
  return new Response(body as ConstructorParameters<typeof Response>[0], {
    status,
    headers: { ...securityHeaders, "Cache-Control": "no-store", ...headers },
  });
}

/** An error response: a status from 400 on, and a sentence that says what would be right. */
export class AdminError extends Error {
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, message: string, headers: Headers = {}) {
    super(message);
    this.status = status;
    this.headers = headers;
  }
}

/** An invalid request. The message is a sentence. */
export class BadRequestError extends AdminError {
  constructor(message: string) {
    super(400, message);
  }
}

/** The response to what a call has thrown. Throws any other exception again. */
export function respondError(error: unknown): Response {
  if (error instanceof OperatorError) return respondError(new AdminError(503, error.message));
  if (!(error instanceof AdminError)) throw error;
  const headers = { "Content-Type": "application/json", ...error.headers };
  return respond(JSON.stringify({ message: error.message }), error.status, headers);
}
