// What a client is made with: defaults, and what is refused at once.

import type {
  PlantStoreError,
  PlantStoreInvalidResponseError,
  PlantStoreNetworkError,
  PlantStoreTimeoutError,
} from "./errors.ts";

/** Why a create is tried again, and when. */
export interface RetryInfo {
  /** The number of the try that has failed: 1 for the first. */
  readonly attempt: number;
  /** What it failed with: what createPlant would reject with, were it the last. */
  readonly error:
    | PlantStoreError
    | PlantStoreInvalidResponseError
    | PlantStoreNetworkError
    | PlantStoreTimeoutError;
  /** How long the pause before the next try is, in milliseconds. */
  readonly delayMs: number;
}

/** What a client needs, and what it may be told. All times are in milliseconds. */
export interface PlantStoreClientOptions {
  /** The service's base address, such as "https://plants.example/v1"; "/plants" is added to it. */
  readonly baseUrl: string | URL;
  /** The bearer token; or a function that gives it, asked before each try, for tokens that are renewed. */
  readonly token: string | (() => string | Promise<string>);
  /** How long one try may take, from its start to the end of its answer: 10,000 unless given. */
  readonly attemptTimeoutMs?: number | undefined;
  /** How long a create may take with all its tries and pauses: 60,000 unless given. */
  readonly timeoutMs?: number | undefined;
  /** How often a create is tried again after its first try: 8 unless given; 0 is never. */
  readonly maxRetries?: number | undefined;
  /** The longest first pause, doubled with every try: 100 unless given. */
  readonly backoffMs?: number | undefined;
  /** What the doubling ends at: 5,000 unless given. A Retry-After may ask for more. */
  readonly maxBackoffMs?: number | undefined;
  /**
   * Called before each pause, such as to log that the server cannot be reached. What it returns is ignored. If it throws,
   * nothing is tried again, and the create rejects with what it threw.
   */
  readonly onRetry?: ((retry: RetryInfo) => void) | undefined;
  /** Numbers from 0 up to 1, for the pauses: Math.random unless given. */
  readonly random?: (() => number) | undefined;
  /** What sends the requests: the global fetch unless given. */
  readonly fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
}

/** The options with their defaults in place. */
export interface Settings {
  readonly url: string;
  readonly token: () => string | Promise<string>;
  readonly attemptTimeoutMs: number;
  readonly timeoutMs: number;
  readonly maxRetries: number;
  readonly backoffMs: number;
  readonly maxBackoffMs: number;
  readonly onRetry: (retry: RetryInfo) => void;
  readonly random: () => number;
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
}

/** setTimeout fires at once for anything longer. */
const timerMsMax = 2 ** 31 - 1;

/** The settings that options stand for. Throws a TypeError that names the option at fault. */
export function settingsOf(options: PlantStoreClientOptions): Settings {
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
    // Called as a bare function: browsers refuse a fetch that is called as some object's method.
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
    // URL throws on what is no absolute address, and on nothing else.
    throw new TypeError(
      `baseUrl must be an absolute address such as http://127.0.0.1:8080, but is ${baseUrl}`,
    );
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    throw new TypeError(`baseUrl must begin with http:// or https://, but is ${baseUrl}`);
  }
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    throw new TypeError("baseUrl must have no query, fragment, user or password");
  }
  return `${url.href.replace(/\/+$/, "")}/plants`;
}

function assertTime(name: string, value: number, min: number): void {
  if (typeof value === "number" && value >= min && value <= timerMsMax) return;
  throw new TypeError(`${name} must be milliseconds from ${min} to ${timerMsMax}, but is ${value}`);
}
