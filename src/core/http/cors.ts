// Cross-origin requests (the CORS protocol of the Fetch standard): documentation playgrounds need them, and bearer
// tokens are not ambient credentials, so any origin may be allowed.

import type { ResponseValue } from "./responses.ts";

/** The origins whose pages may read responses in a browser: all, none, or those listed. */
export type CorsOrigins = "*" | "off" | readonly string[];

const exposedHeaders = "WWW-Authenticate, Retry-After, Allow, X-Request-Id, RateLimit, RateLimit-Policy";
const preflightMaxAgeSeconds = 86_400;

/** The CORS fields that are the same in every response. */
export function staticCorsHeaders(origins: CorsOrigins): Record<string, string> {
  if (origins === "off") return {};
  if (origins === "*") {
    return { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": exposedHeaders };
  }
  return { Vary: "Origin" };
}

/** Adds the fields that depend on the request's origin to a response. */
export function allowOrigin(origins: readonly string[], request: Request, response: Response): void {
  const origin = request.headers.get("origin");
  if (origin === null || !origins.includes(origin)) return;
  response.headers.set("Access-Control-Allow-Origin", origin);
  response.headers.set("Access-Control-Expose-Headers", exposedHeaders);
}

/** Whether a request is a CORS preflight, which carries no credentials and must not need any. */
export function isPreflight(request: Request): boolean {
  return (
    request.method === "OPTIONS" &&
    request.headers.has("origin") &&
    request.headers.has("access-control-request-method")
  );
}

/** The response to a preflight: the methods and header fields that a page may send. */
export function preflightResponse(origins: CorsOrigins, request: Request): ResponseValue {
  const headers = staticCorsHeaders(origins);
  if (origins !== "off") {
    headers["Access-Control-Allow-Methods"] = "GET, POST";
    // The wildcard does not cover Authorization, so the requested names are returned; a field by itself permits nothing.
    const requested = request.headers.get("access-control-request-headers");
    headers["Access-Control-Allow-Headers"] = requested ?? "Authorization, Content-Type";
    headers["Access-Control-Max-Age"] = String(preflightMaxAgeSeconds);
  }
  return { status: 204, outcome: "served", headers, isJson: false, body: null };
}
