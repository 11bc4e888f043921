// One attempt of a call: a request, and its response parsed to a result or an error.

import { parseExactJson } from "./bigint-json.ts";
import type { Call } from "./calls.ts";
import {
  type AttemptError,
  PlantStoreError,
  PlantStoreInvalidResponseError,
  PlantStoreNetworkError,
  PlantStoreTimeoutError,
} from "./client-errors.ts";
import type { Settings } from "./options.ts";
import { parseRetryAfter } from "./retry.ts";

/** Sends a request once. Rejects only with the signal's reason or the token function's error. */
export async function attempt<Result extends object>(
  call: Call<Result>,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  settings: Settings,
): Promise<Result | AttemptError> {
  signal?.throwIfAborted();
  const timeout = AbortSignal.timeout(Math.max(0, Math.ceil(timeoutMs)));
  const ended = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
  try {
    return await Promise.race([send(call, ended, settings), rejectOnAbort(ended)]);
  } catch (error) {
    if (error !== timeout.reason) throw error;
    return new PlantStoreTimeoutError(`No complete response within ${Math.ceil(timeoutMs)} ms.`);
  }
}

async function send<Result extends object>(
  call: Call<Result>,
  signal: AbortSignal,
  { url: plantsUrl, token, fetch }: Settings,
): Promise<Result | AttemptError> {
  const { method, target, body } = call;
  const url = plantsUrl + target;
  const Authorization = `Bearer ${assertToken(await token())}`;
  signal.throwIfAborted();
  try {
    const response = await fetch(url, {
      method,
      headers: { Authorization, ...(body === undefined ? {} : { "Content-Type": "application/json" }) },
      ...(body === undefined ? {} : { body }),
      signal,
      credentials: "omit",
      // A redirect could turn the POST into a GET, or send the token to another host.
      redirect: "manual",
    });
    return await parseResponse(response, call);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return new PlantStoreNetworkError(`No response from ${url}: ${reason}`, { cause });
  }
}

/** fetch throws for most other characters, which would look like a network error. */
function assertToken(token: unknown): string {
  if (typeof token === "string" && /^[!-~]+$/.test(token)) return token;
  throw new TypeError("The token must be a string of visible ASCII characters, without spaces or line ends");
}

/**
 * Rejects with the signal's reason when it is aborted. Some implementations of fetch reject with
 * another error, and a token function or a custom fetch may ignore the signal.
 */
function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
  });
}

/** Rejects as fetch does if the body does not arrive. */
async function parseResponse<Result extends object>(
  response: Response,
  { status: expectedStatus, expected, parse }: Call<Result>,
): Promise<Result | PlantStoreError | PlantStoreInvalidResponseError> {
  const { status, headers } = response;
  const details = {
    status,
    contentType: headers.get("content-type") ?? "",
    retryAfterMs: parseRetryAfter(headers),
  };
  const text = await response.text();
  const json = parseJson(text);
  if (status === expectedStatus) {
    const result = parse(json, headers);
    if (result !== undefined) return result;
  } else {
    const error = toError(json);
    if (error !== undefined) return new PlantStoreError(error.message, { ...details, code: error.code });
  }
  const wanted = status === expectedStatus ? expected : "an Error";
  return new PlantStoreInvalidResponseError(describe(details, text, wanted), details);
}

function toError(json: unknown): { code: number; message: string } | undefined {
  if (typeof json !== "object" || json === null) return undefined;
  const { error: code, message } = json as Readonly<Record<string, unknown>>;
  if (typeof code !== "number" || !Number.isInteger(code) || typeof message !== "string") return undefined;
  return { code, message };
}

/** Undefined, which is no result and no Error, for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

const quotedCodeUnitsMax = 100;

function describe(
  { status, contentType }: { status: number; contentType: string },
  text: string,
  expected: string,
): string {
  if (status === 0 || (status >= 300 && status < 400)) {
    return `The response is a redirect (status ${status}), which is not followed with a token; correct baseUrl.`;
  }
  const type = contentType === "" ? "no Content-Type" : contentType;
  const start = text.length > quotedCodeUnitsMax ? `${text.slice(0, quotedCodeUnitsMax)}…` : text;
  return (
    `The response is not the Plant Store's: status ${status} with ${type} that is not ${expected}, ` +
    `${JSON.stringify(start)}. Check baseUrl, and any proxy in between.`
  );
}
