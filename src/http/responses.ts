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
 * The JSON of the contract's success with the plant; undefined if it has none.
 *
 * @param times milliseconds since the epoch, where the contract has properties for them.
 * @param request has the address that the client has sent it to.
 */
export function createdJson(
  collection: Collection,
  plant: Plant,
  times: Pick<ResponseDetails, "createdAt" | "changedAt">,
  request: Pick<Request, "url">,
): string | undefined {
  const { response } = collection.operations.create;
  if (response === undefined) return undefined;
  const url = response.urlName === undefined ? "" : itemUrl(collection, request.url, plant.id);
  return responseJson(collection, response, plant, { ...times, url });
}

/**
 * The contract's success with that JSON. No other field is needed: a response to POST is not cached
 * without explicit freshness (RFC 9110, section 9.3.3).
 */
export function createdResponse(
  { operations }: Pick<Collection, "operations">,
  json: string | undefined,
  requestId: string,
): Response {
  const { status } = operations.create;
  const headers = json === undefined ? emptyHeaders : plantHeaders;
  headers.set("X-Request-Id", requestId);
  const init = json === undefined ? undefined : plantResponseInits[status];
  return new Response(json, init ?? { status, headers });
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
