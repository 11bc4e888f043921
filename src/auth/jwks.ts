// Fetches the keys of an identity provider (RFC 7517) at an interval. A provider that is away
// leaves the keys as they are. jose's remote key set would contact it then for each token with an
// unknown key, and does not report that the keys have changed.

import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from "jose";
import { BoundedMap } from "../base/bounded-map.ts";
import { isConfidential } from "../base/loopback.ts";
import { errorMessage } from "../base/operator-error.ts";
import type { Emit } from "../base/server-event.ts";

/** An identity provider whose JWTs are accepted. */
export interface IdentityProvider {
  /** Equal to the tokens' `iss`, to the last character. */
  readonly issuer: string;
  /** The value that the tokens' `aud` must be or contain. */
  readonly audience: string;
  /** The claim that has the audience; "aud" by default. An `aud` beside it must have it, too. */
  readonly audienceClaim?: string | undefined;
  /** Claims that tokens must have besides, such as repository_owner=acme; none by default. */
  readonly claims?: readonly string[] | undefined;
  /** Undefined to discover it from the issuer's metadata. */
  readonly jwksUrl: string | undefined;
  /** Between fetches: a key that the provider removes is rejected after it at the latest. */
  readonly keysAgeMsMax: number;
  /** The least time between two fetches for tokens with unknown keys, or after a failed fetch. */
  readonly keysIntervalMsMin?: number;
}

const defaultIntervalMsMin = 5_000;

/** The time-out of each request to the provider. */
const fetchMsMax = 5_000;

/** The limit of a response of the provider, after decompression: key sets have some kilobytes. */
const responseBytesMax = 2 ** 20;

/** Key ids that the last fetch did not have. */
const missingIdsMax = 64;

export class ProviderKeys {
  readonly #provider: IdentityProvider;
  readonly #intervalMsMin: number;
  readonly #emit: Emit;
  readonly #onKeyGone: () => void;
  /** Undefined before the first fetch. */
  #keys: JWTVerifyGetKey | undefined;
  /** The keys as texts. */
  #known: ReadonlySet<string> = new Set();
  #ids: ReadonlySet<string> = new Set();
  /** Resolves with whether the fetch succeeded. */
  #fetching: Promise<boolean> | undefined;
  #lastLookAt = Number.NEGATIVE_INFINITY;
  /** Key ids that the last fetches did not have: those they were for, and those that are gone. */
  readonly #missingIds = new BoundedMap<string, true>(missingIdsMax);
  #hasFailed = false;
  #timer: Timer | undefined;
  #isStopped = false;

  /**
   * Starts fetching, without waiting: a server starts without its provider as well.
   *
   * @param onKeyGone is called when the provider no longer has a key, or has changed it.
   */
  constructor(provider: IdentityProvider, emit: Emit, onKeyGone: () => void) {
    this.#provider = provider;
    this.#intervalMsMin = provider.keysIntervalMsMin ?? defaultIntervalMsMin;
    this.#emit = emit;
    this.#onKeyGone = onKeyGone;
    void this.#fetch();
  }

  /** Stops fetching. A fetch that is running ends by its time-out. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Finds the key of a token. Rejects with JWKSNoMatchingKey if there is none. */
  readonly getKey: JWTVerifyGetKey = async (header, token) => {
    if (this.#keys === undefined) throw new errors.JWKSNoMatchingKey();
    return this.#keys(header, token);
  };

  /**
   * Looks for new keys, for a token whose key is unknown. There is one fetch an interval for all such
   * tokens together: until the next one it is `tooSoon` to say that a key does not exist, unless the
   * last one was for the same. Otherwise made-up keys would get genuine tokens of a new one rejected.
   */
  async look(keyId = ""): Promise<"asked" | "tooSoon" | "unreachable"> {
    const now = performance.now();
    if (this.#fetching === undefined) {
      // After a failure only the timer tries again.
      if (this.#hasFailed) return "unreachable";
      if (now - this.#lastLookAt < this.#intervalMsMin)
        return this.#missingIds.has(keyId) ? "asked" : "tooSoon";
      this.#lastLookAt = now;
      this.#missingIds.clear();
    }
    const isAnswered = await this.#fetch();
    this.#missingIds.set(keyId, true);
    return isAnswered ? "asked" : "unreachable";
  }

  #fetch(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#fetching ??= this.#fetchOnce().finally(() => {
      this.#fetching = undefined;
      if (this.#isStopped) return;
      const intervalMs = this.#hasFailed ? this.#intervalMsMin : this.#provider.keysAgeMsMax;
      this.#timer = setTimeout(() => void this.#fetch(), intervalMs).unref();
    });
    return this.#fetching;
  }

  async #fetchOnce(): Promise<boolean> {
    const { issuer, jwksUrl } = this.#provider;
    let url = jwksUrl ?? issuer;
    try {
      url = jwksUrl ?? (await discoverJwksUrl(issuer));
      const keys = (await fetchJson(url)) as JSONWebKeySet;
      this.#keys = createLocalJWKSet(keys);
      const known = new Set(keys.keys.map((key) => JSON.stringify(key)));
      const ids = new Set(keys.keys.map(({ kid }) => kid ?? ""));
      for (const id of this.#ids.difference(ids)) this.#missingIds.set(id, true);
      if (!this.#known.isSubsetOf(known)) this.#onKeyGone();
      this.#known = known;
      this.#ids = ids;
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      if (!this.#isStopped)
        this.#emit({ kind: "jwksRefreshFailed", reason: `${url}: ${errorMessage(error)}` });
    }
    return !this.#hasFailed;
  }
}

/** OpenID Connect Discovery 1.0, section 4. */
async function discoverJwksUrl(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
  const metadata = (await fetchJson(url)) as { issuer?: unknown; jwks_uri?: unknown } | null;
  // Section 4.3: otherwise one tenant could impersonate another.
  if (metadata?.issuer !== issuer)
    throw new Error(`${url} has the issuer ${JSON.stringify(metadata?.issuer)}; expected ${issuer}`);
  const jwksUrl = URL.parse(String(metadata.jwks_uri));
  if (jwksUrl === null || !isConfidential(jwksUrl))
    throw new Error(
      `${url} has the jwks_uri ${JSON.stringify(metadata.jwks_uri)}, which is not an https URL`,
    );
  return jwksUrl.href;
}

async function fetchJson(url: string): Promise<unknown> {
  // http is for loopback only, and would leave the machine through a proxy of the environment.
  const direct = url.startsWith("http:") && { proxy: false };
  const signal = AbortSignal.timeout(fetchMsMax);
  const response = await fetch(url, { signal, redirect: "manual", ...direct });
  if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length;
    if (bytes > responseBytesMax) throw new Error(`${url} answered with more than ${responseBytesMax} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString());
}
