// Responses of the public listener, as values, and how they are sent.

import { type ApiError, type ErrorCode, errorRegistry, statusOf } from "../contract/errors.ts";
import { type Plant, toPlant } from "../contract/plant.ts";
import type { RequestRecord, Result } from "../observability/server-event.ts";
import { type CorsOrigins, staticCorsHeaders } from "./cors.ts";

/** A response before it is sent. */
export interface ResponseValue {
  readonly status: number;
  /** What the request record says of it. */
  readonly outcome: Result;
  /** The message of an error. */
  readonly message?: string;
  /** Fields beside X-Request-Id; of a JSON response beside those that all of them have. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly isJson: boolean;
  readonly body: string | Blob | ReadableStream<Uint8Array> | null;
}

/** The request record of the public listener: the one that is observed, and a field of the response. */
export interface PublicRequestRecord extends RequestRecord {
  /** The value of RateLimit, where callers have a rate. */
  rateLimit: string | undefined;
}

/** 200 with the Plant. */
export function plantResponse(plant: Plant, outcome: "created" | "unchanged"): ResponseValue {
  return { status: 200, outcome, headers: undefined, isJson: true, body: JSON.stringify(toPlant(plant)) };
}

/** The Error body, with the status and the header fields that belong to its code. */
export function errorResponse(error: ApiError): ResponseValue {
  const { code, message } = error;
  const body = JSON.stringify({ error: errorRegistry[code].error, message });
  return { status: statusOf(code), outcome: code, message, headers: errorHeaders(error), isJson: true, body };
}

const realm = 'Bearer realm="plantstore"';

/** Header fields that every response with the code has. */
const headersOfCode: Partial<Record<ErrorCode, Readonly<Record<string, string>>>> = {
  // RFC 6750, section 3.
  missingToken: { "WWW-Authenticate": realm },
  invalidToken: { "WWW-Authenticate": `${realm}, error="invalid_token"` },
  // The rest of the request is not read (RFC 9110, section 15.5.9), or its end is in doubt (RFC 9112, section 6.3).
  requestTimeout: { Connection: "close" },
  badRequest: { Connection: "close" },
};

function errorHeaders({ code, details }: ApiError): Readonly<Record<string, string>> | undefined {
  if (details.retryAfterSeconds !== undefined) return { "Retry-After": String(details.retryAfterSeconds) };
  return details.allow === undefined ? headersOfCode[code] : { Allow: details.allow };
}

/** Makes a Response of a value. */
export class ResponseSender {
  /**
   * The fields of every JSON response, copied into each. X-Request-Id is set here and not on the copy: 0.23 against
   * 0.32 µs. A Headers object is copied in 0.27 µs, a plain object of the same fields in 1.06 µs.
   */
  readonly #jsonHeaders: Headers;
  readonly #rateLimitPolicy: string | undefined;

  /** @param rateLimitPolicy the value of RateLimit-Policy, where callers have a rate. */
  constructor(origins: CorsOrigins, rateLimitPolicy: string | undefined) {
    this.#jsonHeaders = new Headers({
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
      "X-Content-Type-Options": "nosniff",
      ...staticCorsHeaders(origins),
    });
    this.#rateLimitPolicy = rateLimitPolicy;
  }

  send({ status, body, headers, isJson }: ResponseValue, record: PublicRequestRecord): Response {
    if (!isJson)
      return new Response(body, { status, headers: { ...headers, "X-Request-Id": record.requestId } });
    this.#jsonHeaders.set("X-Request-Id", record.requestId);
    const response = new Response(body, { status, headers: this.#jsonHeaders });
    if (headers !== undefined)
      for (const name of Object.keys(headers)) response.headers.set(name, headers[name] ?? "");
    if (record.rateLimit !== undefined && this.#rateLimitPolicy !== undefined) {
      response.headers.set("RateLimit-Policy", this.#rateLimitPolicy);
      response.headers.set("RateLimit", record.rateLimit);
    }
    return response;
  }
}
