// How long to wait between tries, and the waiting.

import type { Settings } from "./options.ts";

type Pace = Pick<Settings, "backoffMs" | "maxBackoffMs" | "random">;

/**
 * Milliseconds until the next try. Full jitter: anything from nothing to the doubled pause, so that clients which
 * failed together do not come back together; what the server asked for is waited for in full, and the jitter after it.
 */
export function backoffMsFor(
  tries: number,
  retryAfterMs: number | undefined,
  { backoffMs, maxBackoffMs, random }: Pace,
): number {
  const jitterMsMax = Math.min(maxBackoffMs, backoffMs * 2 ** (tries - 1));
  return (retryAfterMs ?? 0) + random() * jitterMsMax;
}

/** Resolves after a time; rejects with the signal's reason as soon as it is aborted. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
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
