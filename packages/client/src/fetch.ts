// Makes a fetch with retries, time limits, and exact integers in `response.json()`.

import { parseExact } from "./exact-json.ts";

export interface FetchOptions {
  /** Maximum number of attempts of a request; 1 disables retries. Default: 8. */
  readonly attempts?: number | undefined;
  /** Time limit of one attempt, to the end of its response. Default: 10,000. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Time limit of a request with all attempts and delays. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Random numbers from 0 to 1 for the delays. Default: Math.random. */
  readonly random?: (() => number) | undefined;
}

/** Request Timeout, Too Many Requests, Bad Gateway, Service Unavailable, Gateway Timeout. */
const transientStatuses: readonly number[] = [408, 429, 502, 503, 504];

/** RFC 9110, section 9.2.2. */
const idempotentMethods: readonly string[] = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT"];

const backoffMsMax = 5_000;

/**
 * Returns a fetch that sends a request again after network errors, time-outs and transient statuses
 * if that is safe: with an idempotent method, an Idempotency-Key, or an entity tag in If-Match. A
 * POST without a key gets one, the same for all of its attempts. Each response is read whole.
 *
 * It ends as its last attempt does: with a response, whatever its status, the error of fetch, or a
 * DOMException TimeoutError. An aborted signal ends it at once, with the signal's reason.
 */
export function createFetch({
  attempts = 8,
  attemptTimeoutMs = 10_000,
  timeoutMs = 60_000,
  random = Math.random,
}: FetchOptions = {}) {
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    // The types of Bun take each kind of input in an overload of its own.
    const request = new Request(input as Request, init);
    const { method, headers, signal } = request;
    if (method === "POST" && !headers.has("Idempotency-Key")) headers.set("Idempotency-Key", randomKey());
    const isRepeatable =
      idempotentMethods.includes(method) ||
      headers.has("Idempotency-Key") ||
      // An entity tag holds for one success only; "*" for any.
      (headers.get("If-Match") ?? "*") !== "*";
    const deadline = performance.now() + timeoutMs;
    for (let attempt = 1; ; attempt++) {
      const outcome = await send(request, Math.min(attemptTimeoutMs, deadline - performance.now()));
      const response = outcome instanceof Response ? outcome : undefined;
      if (response !== undefined && !transientStatuses.includes(response.status)) return response;
      // Random, so that clients which failed together do not return together.
      const backoffMs = random() * Math.min(backoffMsMax, 50 * 2 ** attempt);
      const delayMs = backoffMs + retryAfterMs(response?.headers.get("Retry-After") ?? "");
      if (!isRepeatable || attempt >= attempts || performance.now() + delayMs >= deadline) {
        if (response !== undefined) return response;
        throw outcome;
      }
      await delay(delayMs, signal);
    }
  };
}

/** crypto.randomUUID is missing in pages that were loaded by http://. */
function randomKey(): string {
  const bytes = Array.from(crypto.getRandomValues(new Uint8Array(16)));
  return bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Sends a request once. Rejects only with the reason of its signal. */
async function send(request: Request, timeoutMs: number): Promise<unknown> {
  const { signal } = request;
  const timeout = AbortSignal.timeout(Math.max(0, Math.ceil(timeoutMs)));
  try {
    const response = await fetch(request.clone() as Request, { signal: AbortSignal.any([signal, timeout]) });
    return exactResponse(await response.arrayBuffer(), response);
  } catch (error) {
    signal.throwIfAborted();
    return error;
  }
}

/** A response whose body has been read. */
function exactResponse(body: ArrayBuffer, original: Response): Response {
  // A response of some statuses must not have a body, not even an empty one.
  const response = new Response(body.byteLength === 0 ? null : body, original);
  // openapi-fetch calls json() only if there is a Content-Length; else it parses the text itself.
  if (body.byteLength > 0) response.headers.set("Content-Length", String(body.byteLength));
  return Object.defineProperties(response, {
    url: { value: original.url },
    json: { value: async () => parseExact(await response.text()) },
  });
}

/** Retry-After is a number of seconds or a date; anything else is no delay. */
function retryAfterMs(value: string): number {
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return ms > 0 ? ms : 0;
}

function delay(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const timer = setTimeout(resolve, ms);
    // The signal is the request's own, and goes with it.
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
