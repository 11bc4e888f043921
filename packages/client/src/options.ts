// The options of a client, with defaults and validation.

import type { AttemptError } from "./client-errors.ts";

/** A retry, as onRetry is called with it. */
export interface RetryInfo {
  /** The number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** Its error: the call rejects with it if it is the last. */
  readonly error: AttemptError;
  /** The delay before the next attempt, in milliseconds. */
  readonly delayMs: number;
}

/** All times are in milliseconds. */
export interface PlantStoreClientOptions {
  /** The base URL, such as "https://plants.example/v1"; "/plants" is appended. */
  readonly baseUrl: string | URL;
  /** The bearer token, or a function that returns it, which is called before each attempt. */
  readonly token: string | (() => string | Promise<string>);
  /** Timeout of one attempt, to the end of its response. Default: 10,000. */
  readonly attemptTimeoutMs?: number | undefined;
  /** Timeout of a call with all attempts and delays. Default: 60,000. */
  readonly timeoutMs?: number | undefined;
  /** Maximum number of retries after the first attempt; 0 disables them. Default: 8. */
  readonly maxRetries?: number | undefined;
  /** Maximum delay before the first retry, doubled for each further one. Default: 100. */
  readonly backoffMs?: number | undefined;
  /** Limit of the doubling. A Retry-After may be longer. Default: 5,000. */
  readonly maxBackoffMs?: number | undefined;
  /**
   * Called before the delay of each retry, for example to log it. If it throws, the call rejects
   * with its error.
   */
  readonly onRetry?: ((retry: RetryInfo) => void) | undefined;
  /** Random numbers from 0 to 1 for the delays. Default: Math.random. */
  readonly random?: (() => number) | undefined;
  /** Sends the requests. Default: the global fetch. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** The options with their defaults. */
export type Settings = ReturnType<typeof parseOptions>;

/** setTimeout fires immediately for longer times. */
const timerMsMax = 2 ** 31 - 1;

/** Applies the defaults. Throws a TypeError that names an invalid option. */
export function parseOptions(options: PlantStoreClientOptions) {
  const { token } = options;
  const settings = {
    url: plantsUrl(options.baseUrl),
    token: typeof token === "string" ? () => token : token,
    attemptTimeoutMs: options.attemptTimeoutMs ?? 10_000,
    timeoutMs: options.timeoutMs ?? 60_000,
    maxRetries: options.maxRetries ?? 8,
    backoffMs: options.backoffMs ?? 100,
    maxBackoffMs: options.maxBackoffMs ?? 5_000,
    onRetry: options.onRetry ?? (() => undefined),
    random: options.random ?? Math.random,
    // Called without an object: browsers throw if fetch is called as a method of another object.
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
  };
  if (typeof settings.token !== "function") throw new TypeError("token must be a string or a function");
  if (typeof settings.onRetry !== "function") throw new TypeError("onRetry must be a function");
  assertTime("attemptTimeoutMs", settings.attemptTimeoutMs, 1);
  assertTime("timeoutMs", settings.timeoutMs, 1);
  assertTime("backoffMs", settings.backoffMs, 0);
  assertTime("maxBackoffMs", settings.maxBackoffMs, 0);
  if (!(Number.isSafeInteger(settings.maxRetries) && settings.maxRetries >= 0)) {
    throw new TypeError(`maxRetries must be an integer from 0, but is ${settings.maxRetries}`);
  }
  return settings;
}

function plantsUrl(baseUrl: string | URL): string {
  let url: URL;
  try {
    url = new URL(baseUrl);
  } catch {
    // URL throws only for a text that is not an absolute URL.
    throw new TypeError(`baseUrl must be an absolute URL such as http://127.0.0.1:8080, but is ${baseUrl}`);
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`baseUrl must begin with http:// or https://, but is ${baseUrl}`);
  }
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new TypeError("baseUrl must not contain a query, fragment, user or password");
  }
  return `${url.href.replace(/\/+$/, "")}/plants`;
}

function assertTime(name: string, value: number, min: number): void {
  if (typeof value === "number" && value >= min && value <= timerMsMax) return;
  throw new TypeError(`${name} must be milliseconds from ${min} to ${timerMsMax}, but is ${value}`);
}
