// The JSON Web Key Set of an identity provider (RFC 7517), in a cache that survives outages.

import { setTimeout as sleep } from "node:timers/promises";
import { createLocalJWKSet, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { isConfidential } from "../loopback.ts";
import type { Emit } from "../observability/server-event.ts";
import { errorMessage } from "../operator-error.ts";
import type { Caller } from "./caller.ts";

/** An identity provider whose JWTs are accepted. */
export interface IdentityProvider {
  /** Equal to the tokens' `iss`, to the last character. */
  readonly issuer: string;
  /** The value that the tokens' `aud` must be or contain. */
  readonly audience: string;
  /** Undefined to discover it from the issuer's metadata. */
  readonly jwksUrl: string | undefined;
  /** Between fetches: a key that the provider removes is rejected after it at the latest. */
  readonly keysAgeMsMax: number;
  /** The least time between two fetches for tokens with unknown keys, or after a failed fetch. */
  readonly keysIntervalMsMin?: number;
}

export interface VerifiedToken {
  readonly caller: Caller;
  /** Milliseconds since the epoch; from then on the token is not accepted. */
  readonly expiresAt: number;
}

/** 4 MB, at about 400 bytes each. Beyond it the oldest is evicted, and verified again when used. */
const verifiedTokensMax = 10_000;

/** One version of the keys, with the tokens verified by it: none outlives its key. */
export class KeySet {
  readonly getKey: JWTVerifyGetKey;
  readonly #verified = new Map<string, VerifiedToken>();

  /** Throws a JOSEError if `jwks` is not a JSON Web Key Set (RFC 7517, section 5). */
  constructor(jwks: unknown) {
    this.getKey = createLocalJWKSet(jwks as JSONWebKeySet);
  }

  getVerified(hash: string): VerifiedToken | undefined {
    return this.#verified.get(hash);
  }

  addVerified(hash: string, token: VerifiedToken): void {
    this.#verified.set(hash, token);
    if (this.#verified.size <= verifiedTokensMax) return;
    const [oldest] = this.#verified.keys();
    if (oldest !== undefined) this.#verified.delete(oldest);
  }
}

const defaultIntervalMsMin = 5_000;

/** Limits the metadata and the keys, after decompression: a provider publishes a few KB. */
const responseBytesMax = 2 ** 20;

/** The time-out of a fetch, discovery included. */
const fetchMsMax = 5_000;

/** The provider's keys, fetched at intervals. If a fetch fails, the cached keys stay valid. */
export class JwksCache {
  readonly #provider: IdentityProvider;
  readonly #intervalMsMin: number;
  readonly #emit: Emit;
  readonly #stopped = new AbortController();
  #keys = new KeySet({ keys: [] });
  #keysText = "";
  /** Whether the last fetch failed. Then only the timer retries. */
  #isUnreachable = false;
  #fetching: Promise<KeySet | undefined> | undefined;
  #refreshing: Promise<KeySet | undefined> | undefined;
  #lastRefreshAt = Number.NEGATIVE_INFINITY;
  #timer: Timer | undefined;

  /** Starts fetching, without waiting: a server starts without its provider as well. */
  constructor(provider: IdentityProvider, emit: Emit) {
    this.#provider = provider;
    this.#intervalMsMin = provider.keysIntervalMsMin ?? defaultIntervalMsMin;
    this.#emit = emit;
    void this.#fetch();
  }

  /** Stops fetching; resolves when no fetch is running. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    await Promise.all([this.#fetching, this.#refreshing]);
  }

  /** The keys of the last successful fetch; empty before the first. */
  get snapshot(): KeySet {
    return this.#keys;
  }

  /** The fetch that is running, if any; undefined if it fails. */
  get running(): Promise<KeySet | undefined> | undefined {
    return this.#fetching;
  }

  /** Fetches the keys for a token with an unknown key; undefined if the provider is unreachable. */
  async refresh(): Promise<KeySet | undefined> {
    if (this.#isUnreachable) return undefined;
    this.#refreshing ??= this.#fetchAfterInterval();
    return this.#refreshing;
  }

  async #fetchAfterInterval(): Promise<KeySet | undefined> {
    const delayMs = Math.max(0, this.#lastRefreshAt + this.#intervalMsMin - performance.now());
    const isStopped = await sleep(delayMs, false, { signal: this.#stopped.signal }).catch(() => true);
    await this.#fetching;
    this.#refreshing = undefined;
    if (isStopped || this.#isUnreachable) return undefined;
    this.#lastRefreshAt = performance.now();
    return this.#fetch();
  }

  #fetch(): Promise<KeySet | undefined> {
    clearTimeout(this.#timer);
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
      if (this.#stopped.signal.aborted) return;
      const intervalMs = this.#isUnreachable ? this.#intervalMsMin : this.#provider.keysAgeMsMax;
      this.#timer = setTimeout(() => void this.#fetch(), intervalMs);
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<KeySet | undefined> {
    try {
      const signal = AbortSignal.any([this.#stopped.signal, AbortSignal.timeout(fetchMsMax)]);
      this.#update(await fetchJwks(this.#provider, signal));
      this.#isUnreachable = false;
      return this.#keys;
    } catch (error) {
      this.#isUnreachable = true;
      if (!this.#stopped.signal.aborted)
        this.#emit({ kind: "jwksRefreshFailed", reason: errorMessage(error) });
      return undefined;
    }
  }

  /** Unchanged keys keep their KeySet, and with it the verified tokens. */
  #update(jwks: unknown): void {
    const text = JSON.stringify(jwks);
    if (text === this.#keysText) return;
    this.#keys = new KeySet(jwks);
    this.#keysText = text;
  }
}

/** The provider's key set, unchecked. Rejects with an Error that names the failed URL, and why. */
async function fetchJwks({ issuer, jwksUrl }: IdentityProvider, signal: AbortSignal): Promise<unknown> {
  const url = jwksUrl ?? (await discoverJwksUrl(issuer, signal));
  return readJson(url, await get(url, signal));
}

async function discoverJwksUrl(issuer: string, signal: AbortSignal): Promise<string> {
  const urls = metadataUrls(issuer);
  for (const url of urls) {
    const response = await get(url, signal);
    if (response.status >= 400 && response.status < 500) continue;
    return parseJwksUrl(url, await readJson(url, response), issuer);
  }
  throw new Error(`no metadata at ${urls.join(" or ")}; set --jwks-url to the address of the keys`);
}

/** OpenID Connect Discovery 1.0, section 4, appends a path; RFC 8414, section 3, inserts one. */
function metadataUrls(issuer: string): string[] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
}

function parseJwksUrl(url: string, metadata: unknown, issuer: string): string {
  const { issuer: actualIssuer, jwks_uri: jwksUri } = (metadata ?? {}) as Record<string, unknown>;
  // OpenID Connect Discovery 1.0, section 4.3: otherwise one tenant could impersonate another.
  if (actualIssuer !== issuer) {
    throw new Error(
      `${url} has the issuer ${JSON.stringify(actualIssuer)}; expected ${JSON.stringify(issuer)}`,
    );
  }
  const parsed = typeof jwksUri === "string" ? URL.parse(jwksUri) : null;
  if (parsed === null || !isConfidential(parsed)) {
    throw new Error(`${url} has the jwks_uri ${JSON.stringify(jwksUri)}, which is not an https URL`);
  }
  return parsed.href;
}

/** Redirects are not followed: they could lead to a URL that is not confidential. */
async function get(url: string, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(url, {
      signal,
      redirect: "manual",
      headers: { Accept: "application/json, application/jwk-set+json" },
      // http is for loopback only, and would leave the machine through a proxy of the environment.
      ...(new URL(url).protocol === "http:" && { proxy: false }),
    });
  } catch (error) {
    throw fetchError(url, error);
  }
}

async function readJson(url: string, response: Response): Promise<unknown> {
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true });
    let text = "";
    let bytes = 0;
    for await (const chunk of response.body ?? []) {
      bytes += chunk.length;
      if (bytes > responseBytesMax) throw new Error(`the response is over ${responseBytesMax} bytes`);
      text += decoder.decode(chunk, { stream: true });
    }
    return JSON.parse(text + decoder.decode());
  } catch (error) {
    throw fetchError(url, error);
  }
}

function fetchError(url: string, error: unknown): Error {
  return new Error(`${url}: ${errorMessage(error)}`, { cause: error });
}
