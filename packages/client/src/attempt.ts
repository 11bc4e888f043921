// One attempt of a create: a request, and its response parsed to a Plant or an error.

import {
  type AttemptError,
  PlantStoreError,
  PlantStoreInvalidResponseError,
  PlantStoreNetworkError,
  PlantStoreTimeoutError,
} from "./errors.ts";
import { parseExactJson } from "./exact-json.ts";
import type { Settings } from "./options.ts";
import { type Plant, parsePlant } from "./plant.ts";
import { parseRetryAfter } from "./retry.ts";

/** Sends a body once. Rejects only with the signal's reason or the token function's error. */
export async function attempt(
  body: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  settings: Settings,
): Promise<Plant | AttemptError> {
  signal?.throwIfAborted();
  // AbortSignal.any would be shorter, but requires Node 20.3, or a browser of 2024.
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  signal?.addEventListener("abort", abort);
  const timeout = new PlantStoreTimeoutError(`No complete response within ${Math.ceil(timeoutMs)} ms.`);
  const timer = setTimeout(() => controller.abort(timeout), timeoutMs);
  try {
    return await Promise.race([send(body, controller.signal, settings), rejectOnAbort(controller.signal)]);
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
): Promise<Plant | AttemptError> {
  const Authorization = `Bearer ${assertToken(await token())}`;
  signal.throwIfAborted();
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { Authorization, "Content-Type": "application/json" },
      body,
      signal,
      credentials: "omit",
      // A redirect could turn the POST into a GET, or send the token to another host.
      redirect: "manual",
    });
    return await parseResponse(response, responseBytesMin + 6 * body.length);
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

/**
 * The bytes of a response that are always read: a Plant may have six for each UTF-16 code unit,
 * such as `\\u00e9`.
 */
const responseBytesMin = 2 ** 20;

/** Rejects as fetch does if the body does not arrive. */
async function parseResponse(
  response: Response,
  bytesMax: number,
): Promise<Plant | PlantStoreError | PlantStoreInvalidResponseError> {
  const { status, headers } = response;
  const details = {
    status,
    contentType: headers.get("content-type") ?? "",
    retryAfterMs: parseRetryAfter(headers),
  };
  const text = await readText(response, bytesMax);
  if (text === undefined)
    return new PlantStoreInvalidResponseError(
      `The response is not the Plant Store's: status ${status} with over ${bytesMax} bytes. Check baseUrl, and any proxy in between.`,
      details,
    );
  const json = parseJson(text);
  if (status === 200) {
    const plant = isRecord(json) ? parsePlant(json) : undefined;
    if (plant !== undefined) return plant;
  } else {
    const error = toError(json);
    if (error !== undefined) return new PlantStoreError(error.message, { ...details, code: error.code });
  }
  return new PlantStoreInvalidResponseError(describe(details, text), details);
}

/** The text of a body; undefined, and the rest is not read, if it has more bytes. */
async function readText({ body }: Response, bytesMax: number): Promise<string | undefined> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (let bytes = 0; reader !== undefined; ) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (bytes > bytesMax) {
      // An error of the connection does not matter any more.
      reader.cancel().catch(() => undefined);
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
  return text + decoder.decode();
}

function toError(json: unknown): { code: number; message: string } | undefined {
  if (!isRecord(json)) return undefined;
  const { error: code, message } = json;
  if (typeof code !== "number" || !Number.isInteger(code) || typeof message !== "string") return undefined;
  return { code, message };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

/** Undefined, which is neither a Plant nor an Error, for a text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return parseExactJson(text);
  } catch {
    return undefined;
  }
}

const quotedCodeUnitsMax = 100;

function describe({ status, contentType }: { status: number; contentType: string }, text: string): string {
  if (status === 0 || (status >= 300 && status < 400)) {
    return `The response is a redirect (status ${status}), which is not followed with a token; correct baseUrl.`;
  }
  const expected = status === 200 ? "a Plant" : "an Error";
  const type = contentType === "" ? "no Content-Type" : contentType;
  const start = text.length > quotedCodeUnitsMax ? `${text.slice(0, quotedCodeUnitsMax)}…` : text;
  return (
    `The response is not the Plant Store's: status ${status} with ${type} that is not ${expected}, ` +
    `${JSON.stringify(start)}. Check baseUrl, and any proxy in between.`
  );
}
