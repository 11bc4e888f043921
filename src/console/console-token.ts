// The console's own token, by which operators add plants without one of their own: listed and revocable like any other.

import type { AuthResult } from "../core/auth/authenticator.ts";
import { isActive } from "../core/auth/token.ts";
import type { NewToken, TokenStore } from "../core/store/token-store.ts";

/** Its name, in the log and in the list of tokens. */
export const consoleTokenName = "console";

/**
 * Begins its hash, which is therefore not the SHA-256 of any text: no client can send this token, and there is no secret to
 * store. All servers of a store use the same one, also after a restart.
 */
const hashPrefix = "console:";
const hashBytes = 32;

/** The result for a console's token that was revoked: the same as for a client's. */
const noHash = `${hashPrefix}none`;

export interface ConsoleTokenDependencies {
  readonly store: Pick<TokenStore, "add" | "list">;
  /** Authenticates a token by its hash, see TokenCache. */
  readonly lookupHash: (hash: string) => AuthResult | Promise<AuthResult>;
  /** Milliseconds since the epoch. */
  readonly wallNow: () => number;
  readonly randomBytes: (count: number) => Uint8Array;
}

export function isConsoleToken({ hash }: Pick<NewToken, "hash">): boolean {
  return hash.startsWith(hashPrefix);
}

export class ConsoleToken {
  readonly #dependencies: ConsoleTokenDependencies;
  /** Of the token that was active last. */
  #hash: string | undefined;

  constructor(dependencies: ConsoleTokenDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The hash of the active token. The first one is issued here; a token that an operator has revoked is replaced by `issue`
   * only, and until then the hash is of no token. `nameTaken` if a client has a token of its name.
   */
  async activeHash(): Promise<string | "nameTaken"> {
    if (this.#hash !== undefined && "key" in (await this.#dependencies.lookupHash(this.#hash)))
      return this.#hash;
    const own = (await this.#dependencies.store.list()).filter(isConsoleToken);
    const active = own.find((token) => isActive(token, this.#dependencies.wallNow()));
    if (active === undefined && own.length === 0) return this.issue();
    this.#hash = active?.hash;
    return this.#hash ?? noHash;
  }

  /** Issues a token, unless one of its name is active; returns its hash. */
  async issue(): Promise<string | "nameTaken"> {
    const { store, wallNow, randomBytes } = this.#dependencies;
    const hash = `${hashPrefix}${randomBytes(hashBytes).toBase64({ alphabet: "base64url", omitPadding: true })}`;
    const record = { hash, name: consoleTokenName, createdAt: wallNow(), expiresAt: null };
    if (await store.add(record)) {
      this.#hash = hash;
      return hash;
    }
    // Another server, or another tab, may have issued it at the same time.
    const own = (await store.list()).find((token) => isConsoleToken(token) && isActive(token, wallNow()));
    this.#hash = own?.hash;
    return this.#hash ?? "nameTaken";
  }
}
