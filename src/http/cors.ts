// Lets pages of other web origins use the service (the CORS protocol of the Fetch standard).
// Documentation playgrounds need it, and bearer tokens are not ambient credentials, so any origin
// may be allowed.

import type { Handler } from "./handler.ts";
import type { Operation } from "./operation.ts";

/** The origins whose pages may read responses in a browser: all, none, or those listed. */
export type CorsOrigins = "*" | "off" | readonly string[];

/** The origins, or a function that says of each whether it is one. */
export type AllowedOrigins = CorsOrigins | ((origin: string) => boolean);

const exposedHeaders = [
  "WWW-Authenticate",
  "Retry-After",
  "Allow",
  "Location",
  "X-Request-Id",
  "RateLimit",
  "RateLimit-Policy",
];
const preflightMaxAgeSeconds = 86_400;

/** Responds to preflights, and adds to other responses what a page needs to read them. */
export function withCors(origins: AllowedOrigins, operations: readonly Operation[], next: Handler): Handler {
  // GET is for the interface description.
  const methods = [...new Set(["GET", ...operations.map(({ method }) => method)])].join(", ");
  const ownHeaders = operations.flatMap(({ described }) =>
    Object.values(described?.responses ?? {}).flatMap(({ headers = {} }) => Object.keys(headers)),
  );
  const exposed = [...new Set([...exposedHeaders, ...ownHeaders])].join(", ");

  const isAllowed = typeof origins === "function" ? origins : (origin: string) => origins.includes(origin);
  const allowOrigin = (origin: string, { headers }: Response) => {
    if (origins === "off") return;
    if (origins !== "*") headers.append("Vary", "Origin");
    if (origins !== "*" && !isAllowed(origin)) return;
    headers.set("Access-Control-Allow-Origin", origins === "*" ? "*" : origin);
    headers.set("Access-Control-Expose-Headers", exposed);
  };

  const preflightResponse = (origin: string, request: Request) => {
    const response = new Response(null, { status: 204 });
    if (origins === "off") return response;
    allowOrigin(origin, response);
    const { headers } = response;
    headers.set("Access-Control-Allow-Methods", methods);
    // The wildcard does not cover Authorization, so the requested names are returned.
    const requested = request.headers.get("access-control-request-headers");
    headers.set("Access-Control-Allow-Headers", requested ?? "Authorization, Content-Type");
    headers.set("Access-Control-Max-Age", String(preflightMaxAgeSeconds));
    return response;
  };

  return (request, context) => {
    const origin = request.headers.get("origin");
    if (origin === null) return next(request, context);
    // A preflight carries no credentials.
    if (request.method === "OPTIONS" && request.headers.has("access-control-request-method"))
      return Promise.resolve(preflightResponse(origin, request));
    return next(request, context).then((response) => {
      allowOrigin(origin, response);
      return response;
    });
  };
}
