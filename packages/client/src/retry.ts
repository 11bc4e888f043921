// Decides whether an error is retried, and after what delay.

import { type AttemptError, ResponseError } from "./client-errors.ts";
import type { Settings } from "./options.ts";

/** Request Timeout, Too Many Requests, Bad Gateway, Service Unavailable, Gateway Timeout. */
const retryableStatuses: readonly number[] = [408, 429, 502, 503, 504];

/** Whether a retry may succeed: after a network error or a timeout, and after some statuses. */
export function isRetryable(error: AttemptError): boolean {
  return !(error instanceof ResponseError) || retryableStatuses.includes(error.status);
}

/**
 * Milliseconds until the next attempt: Retry-After plus a random part of the exponential backoff,
 * so that clients which failed together do not return together.
 */
export function retryDelayMs(
  attempts: number,
  retryAfterMs: number | undefined,
  { backoffMs, maxBackoffMs, random }: Pick<Settings, "backoffMs" | "maxBackoffMs" | "random">,
): number {
  const jitterMsMax = Math.min(maxBackoffMs, backoffMs * 2 ** (attempts - 1));
  return (retryAfterMs ?? 0) + random() * jitterMsMax;
}

/** Resolves after a time; rejects with the signal's reason when it is aborted. */
export function delay(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", abort);
      resolve();
    }, ms);
  });
}

/** The delay of Retry-After in milliseconds; undefined if it is not a number of seconds. */
export function parseRetryAfter(headers: Headers): number | undefined {
  const value = headers.get("retry-after")?.trim() ?? "";
  return /^\d+$/.test(value) ? Number(value) * 1_000 : undefined;
}
