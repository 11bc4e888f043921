// Cross-origin requests (the Fetch standard's CORS protocol): documentation playgrounds need them, and bearer
// tokens are not ambient credentials, so any origin may be let in.

import type { PublicRequestRecord } from "./request-record.ts";

/** The origins that may read answers in a browser: all, none, or those listed. */
export type CorsOrigins = "*" | "off" | readonly string[];

const exposedHeaders = "WWW-Authenticate, Retry-After, Allow, X-Request-Id, RateLimit, RateLimit-Policy";
const preflightMaxAgeSeconds = 86_400;

/** The CORS headers that are the same in every answer. */
export function staticCorsHeaders(origins: CorsOrigins): Record<string, string> {
  if (origins === "off") return {};
  if (origins === "*") {
    return { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": exposedHeaders };
  }
  return { Vary: "Origin" };
}

/** Adds to an answer what depends on the request's origin. */
export function allowOrigin(origins: CorsOrigins, request: Request, answer: Response): Response {
  if (typeof origins === "string") return answer;
  const origin = request.headers.get("origin");
  if (origin !== null && origins.includes(origin)) {
    answer.headers.set("Access-Control-Allow-Origin", origin);
    answer.headers.set("Access-Control-Expose-Headers", exposedHeaders);
  }
  return answer;
}

/** Whether a request is a CORS preflight, which carries no credentials and must not need any. */
export function isPreflight(request: Request): boolean {
  return (
    request.method === "OPTIONS" &&
    request.headers.has("origin") &&
    request.headers.has("access-control-request-method")
  );
}

/** The answer to a preflight: which methods and headers a page may send. */
export function answerPreflight(
  origins: CorsOrigins,
  request: Request,
  exchange: PublicRequestRecord,
): Response {
  exchange.status = 204;
  exchange.result = "served";
  const headers = new Headers({ "X-Request-Id": exchange.requestId, ...staticCorsHeaders(origins) });
  if (origins !== "off") {
    headers.set("Access-Control-Allow-Methods", "GET, POST");
    // A wildcard does not cover Authorization, so name what is asked for; a header by itself opens nothing here.
    const requested = request.headers.get("access-control-request-headers");
    headers.set("Access-Control-Allow-Headers", requested ?? "Authorization, Content-Type");
    headers.set("Access-Control-Max-Age", String(preflightMaxAgeSeconds));
  }
  return new Response(null, { status: 204, headers });
}
