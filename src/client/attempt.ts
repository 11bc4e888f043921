// One try of a create: one request, and its whole answer within a time.

import {
  type PlantStoreError,
  type PlantStoreInvalidResponseError,
  PlantStoreNetworkError,
  PlantStoreTimeoutError,
} from "./errors.ts";
import type { Settings } from "./options.ts";
import type { Plant } from "./plant.ts";
import { readAnswer } from "./response.ts";

/** Why a try gave no Plant. */
export type AttemptFailure =
  | PlantStoreError
  | PlantStoreInvalidResponseError
  | PlantStoreNetworkError
  | PlantStoreTimeoutError;

/**
 * Sends a body once. Rejects only with the reason of a signal that is aborted, at once, and with what asking for the
 * token throws.
 */
export async function attempt(
  body: string,
  msMax: number,
  signal: AbortSignal | undefined,
  settings: Settings,
): Promise<Plant | AttemptFailure> {
  signal?.throwIfAborted();
  // AbortSignal.any would do with less, but Node has it from 20.3 on only, and browsers from 2024.
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abort);
  const timeout = new PlantStoreTimeoutError(`There was no whole answer within ${Math.ceil(msMax)} ms.`);
  const timer = setTimeout(() => controller.abort(timeout), msMax);
  try {
    return await Promise.race([send(body, controller.signal, settings), whenAborted(controller.signal)]);
  } catch (error) {
    if (error === timeout) return timeout;
    throw error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

async function send(
  body: string,
  signal: AbortSignal,
  { url, token, fetch }: Settings,
): Promise<Plant | AttemptFailure> {
  const Authorization = `Bearer ${checkedToken(await token())}`;
  signal.throwIfAborted();
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { Authorization, "Content-Type": "application/json" },
      body,
      signal,
      credentials: "omit",
      // Followed, a redirect could turn the POST into a GET, or take the token elsewhere.
      redirect: "manual",
    });
    return await readAnswer(response);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new PlantStoreNetworkError(`There was no answer from ${url}: ${reason}`, { cause });
  }
}

/** Header values hold little more than this, and what fetch throws for others looks like a network fault. */
function checkedToken(token: unknown): string {
  if (typeof token === "string" && /^[!-~]+$/.test(token)) return token;
  throw new TypeError("The token must be a string of visible ASCII characters, without spaces or line ends");
}

/**
 * Rejects with the signal's reason when it is aborted. fetch would as well, but not each one with the reason itself,
 * and a token that is waited for, or a fetch that is given, may not listen to the signal.
 */
function whenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}
