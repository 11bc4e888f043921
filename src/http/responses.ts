// Writes the responses of the public listener: a plant that was created, or an error.

import type { ApiError, ErrorCode } from "../base/errors.ts";
import type { Collection, Plant } from "../contract/contract.ts";
import { apiErrorMembers, type ErrorFormat, formOf } from "../contract/error-format.ts";
import { itemUrl, type ResponseDetails, responseJson } from "../contract/plant.ts";

/** Every Response copies these fields, which takes less time than to make them anew. */
const plantHeaders = new Headers({ "Content-Type": "application/json" });
const plantResponseInits: Readonly<Record<number, ResponseInit>> = {
  200: { headers: plantHeaders },
  201: { headers: plantHeaders, status: 201 },
};
const emptyHeaders = new Headers();

/**
 * The contract's success with the plant. No other field is needed: a response to POST is not cached
 * without explicit freshness (RFC 9110, section 9.3.3).
 *
 * @param times milliseconds since the epoch, where the contract has properties for them.
 * @param request has the address that the client has sent it to.
 */
export function plantResponse(
  collection: Collection,
  plant: Plant,
  requestId: string,
  times: Pick<ResponseDetails, "createdAt" | "changedAt">,
  request: Pick<Request, "url">,
): Response {
  const { status, response } = collection.operations.create;
  if (response === undefined) {
    emptyHeaders.set("X-Request-Id", requestId);
    return new Response(null, { status, headers: emptyHeaders });
  }
  plantHeaders.set("X-Request-Id", requestId);
  const url = response.urlName === undefined ? "" : itemUrl(collection, request.url, plant.id);
  const init = plantResponseInits[status] ?? { status, headers: plantHeaders };
  return new Response(responseJson(collection, response, plant, { ...times, url }), init);
}

/**
 * An error in the contract's shape, with the status and the header fields that belong to its code.
 */
export function errorResponse(format: ErrorFormat, error: ApiError, requestId?: string): Response {
  const { status, shape } = formOf(format, error.code);
  const response = new Response(JSON.stringify(apiErrorMembers(format, error)), {
    status,
    // A 404 or 405 may be cached without explicit freshness (RFC 9110, section 15.1).
    headers: { "Content-Type": shape.contentType, "Cache-Control": "no-store", ...errorHeaders(error) },
  });
  if (requestId !== undefined) response.headers.set("X-Request-Id", requestId);
  return response;
}

const realm = 'Bearer realm="plantstore"';

/** Header fields that every response with the code has. */
const headersOfCode: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  // RFC 6750, section 3.
  missingToken: { "WWW-Authenticate": realm },
  invalidToken: { "WWW-Authenticate": `${realm}, error="invalid_token"` },
  insufficientScope: { "WWW-Authenticate": `${realm}, error="insufficient_scope"` },
  // The rest of the request is not read (RFC 9110, section 15.5.9), or its end is unknown.
  requestTimeout: { Connection: "close" },
  badRequest: { Connection: "close" },
};

function errorHeaders({ code, details }: ApiError): Readonly<Record<string, string>> | undefined {
  if (details.challenge !== undefined) return { "WWW-Authenticate": details.challenge };
  if (details.retryAfterSeconds !== undefined) {
    const retryAfter = { "Retry-After": String(details.retryAfterSeconds) };
    return details.closesConnection ? { ...retryAfter, Connection: "close" } : retryAfter;
  }
  if (details.allow !== undefined) return { Allow: details.allow };
  return typeof code === "string" ? headersOfCode[code] : undefined;
}
