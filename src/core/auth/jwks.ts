// The keys of an identity provider (RFC 7517): jose's key set, refreshed at an interval. A provider
// that is away leaves the keys as they are.

import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from "jose";
import { isConfidential } from "../loopback.ts";
import type { Emit } from "../observability/server-event.ts";
import { errorMessage } from "../operator-error.ts";

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

const defaultIntervalMsMin = 5_000;

/** The time-out of each request to the provider. */
const fetchMsMax = 5_000;

export class ProviderKeys {
  readonly #provider: IdentityProvider;
  readonly #intervalMsMin: number;
  readonly #emit: Emit;
  readonly #onChanged: () => void;
  /** Undefined until its address is known. */
  #remote: { readonly url: URL; readonly keys: ReturnType<typeof createRemoteJWKSet> } | undefined;
  #text = "";
  /** Resolves with whether the fetch succeeded. */
  #fetching: Promise<boolean> | undefined;
  #lastLookAt = Number.NEGATIVE_INFINITY;
  #hasFailed = false;
  #timer: Timer | undefined;
  #isStopped = false;

  /**
   * Starts fetching, without waiting: a server starts without its provider as well.
   *
   * @param onChanged is called when the provider has other keys than before.
   */
  constructor(provider: IdentityProvider, emit: Emit, onChanged: () => void) {
    this.#provider = provider;
    this.#intervalMsMin = provider.keysIntervalMsMin ?? defaultIntervalMsMin;
    this.#emit = emit;
    this.#onChanged = onChanged;
    void this.#fetch();
  }

  /** Stops fetching. A fetch that is running ends by its time-out. */
  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Finds the key of a token. Rejects with JWKSNoMatchingKey if there is none. */
  readonly getKey: JWTVerifyGetKey = async (header, token) => {
    if (this.#remote?.keys.jwks() === undefined) throw new errors.JWKSNoMatchingKey();
    return this.#remote.keys(header, token);
  };

  /**
   * Looks for new keys, for a token whose key is unknown; false if the provider cannot be asked.
   * There is one fetch an interval for all such tokens together.
   */
  async look(): Promise<boolean> {
    if (this.#fetching !== undefined) return this.#fetching;
    // After a failure only the timer tries again.
    const now = performance.now();
    if (this.#hasFailed || now - this.#lastLookAt < this.#intervalMsMin) return !this.#hasFailed;
    this.#lastLookAt = now;
    return this.#fetch();
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
    try {
      this.#remote ??= await this.#open();
      await this.#remote.keys.reload();
      const text = JSON.stringify(this.#remote.keys.jwks());
      if (text !== this.#text) this.#onChanged();
      this.#text = text;
      this.#hasFailed = false;
    } catch (error) {
      this.#hasFailed = true;
      const reason = `${this.#remote?.url ?? this.#provider.issuer}: ${errorMessage(error)}`;
      if (!this.#isStopped) this.#emit({ kind: "jwksRefreshFailed", reason });
    }
    return !this.#hasFailed;
  }

  async #open() {
    const { issuer, jwksUrl } = this.#provider;
    const url = new URL(jwksUrl ?? (await discoverJwksUrl(issuer)));
    // Fetches are this class's: jose rejects every token beyond its maximum age while the provider
    // is away, and contacts it for each token with an unknown key after a failure.
    const never = Number.POSITIVE_INFINITY;
    const keys = createRemoteJWKSet(url, {
      timeoutDuration: fetchMsMax,
      cacheMaxAge: never,
      cooldownDuration: never,
      [customFetch]: fetchDirectly,
    });
    return { url, keys };
  }
}

/** http is for loopback only, and would leave the machine through a proxy of the environment. */
function fetchDirectly(url: string, init: RequestInit): Promise<Response> {
  return fetch(url, { ...init, ...(new URL(url).protocol === "http:" && { proxy: false }) });
}

/** OpenID Connect Discovery 1.0, section 4, appends a path; RFC 8414, section 3, inserts one. */
async function discoverJwksUrl(issuer: string): Promise<string> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  const urls = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  for (const url of urls) {
    const signal = AbortSignal.timeout(fetchMsMax);
    const response = await fetchDirectly(url, { signal, redirect: "manual" });
    if (response.status >= 400 && response.status < 500) continue;
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`);
    const metadata = (await response.json()) as { issuer?: unknown; jwks_uri?: unknown } | null;
    // OpenID Connect Discovery 1.0, section 4.3: otherwise one tenant could impersonate another.
    if (metadata?.issuer !== issuer)
      throw new Error(`${url} has the issuer ${JSON.stringify(metadata?.issuer)}; expected ${issuer}`);
    const jwksUrl = URL.parse(String(metadata.jwks_uri));
    if (jwksUrl === null || !isConfidential(jwksUrl))
      throw new Error(
        `${url} has the jwks_uri ${JSON.stringify(metadata.jwks_uri)}, which is not an https URL`,
      );
    return jwksUrl.href;
  }
  throw new Error(`no metadata at ${urls.join(" or ")}; set --jwks-url to the address of the keys`);
}
