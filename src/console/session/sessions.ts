// Keeps the sessions of the console: a log-in with the password sets a cookie that is valid for
// some hours.

import { parse, serialize } from "hono/utils/cookie";
import { AdminError } from "../../admin-pages/admin-responses.ts";
import { randomBytes } from "../../auth/token.ts";
import { BoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/server-event.ts";
import { LoginLimit } from "./login-limit.ts";

export interface SessionOptions {
  /** Argon2id; undefined if the console requires no password. */
  readonly passwordHash: string | undefined;
  readonly now: Clock;
}

const sessionSeconds = 12 * 3_600;
/** Beyond it the oldest ends. */
const sessionsMax = 1_000;
const idBytes = 32;
const cookieNameBytes = 6;

export class Sessions {
  /**
   * Unique for each server: browsers share cookies between all ports of a host (RFC 6265, section
   * 8.5).
   */
  readonly #cookieName: string;
  readonly #options: SessionOptions;
  /**
   * The end of each session by the SHA-256 of its id. A look-up by hash does not leak an id through
   * its timing.
   */
  readonly #expiries = new BoundedMap<string, number>(sessionsMax);
  readonly #limit: LoginLimit;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#limit = new LoginLimit(options.now);
    this.#cookieName = `plantstore_console_${toBase64url(randomBytes(cookieNameBytes))}`;
  }

  get requiresPassword(): boolean {
    return this.#options.passwordHash !== undefined;
  }

  /** True for every request if the console requires no password. */
  isAuthenticated(request: Request): boolean {
    if (!this.requiresPassword) return true;
    const hash = this.#sessionHash(request);
    const expiresAt = hash === undefined ? undefined : this.#expiries.get(hash);
    return expiresAt !== undefined && this.#options.now() < expiresAt;
  }

  /** Whether the password is right, in some 0.3 seconds. Rejects as LoginLimit does. */
  async checkPassword(password: string, address: string): Promise<boolean> {
    const { passwordHash } = this.#options;
    if (passwordHash === undefined) return false;
    return this.#limit.run(address, () => Bun.password.verify(password, passwordHash));
  }

  /**
   * Starts a session, and resolves with its cookie. Rejects with an AdminError if the password is
   * wrong.
   *
   * @param isSecure whether the browser uses TLS.
   */
  async logIn(password: string, address: string, isSecure: boolean): Promise<string> {
    const { now } = this.#options;
    if (!(await this.checkPassword(password, address))) throw new AdminError(403, "Wrong password.");
    const id = toBase64url(randomBytes(idBytes));
    this.#expiries.set(sha256(id), now() + sessionSeconds * 1_000);
    return this.#cookie(id, sessionSeconds, isSecure);
  }

  /**
   * Ends the session of a request, and returns the cookie that makes the browser delete its own.
   */
  logOut(request: Request): string {
    const hash = this.#sessionHash(request);
    if (hash !== undefined) this.#expiries.delete(hash);
    return this.#cookie("", 0, false);
  }

  #cookie(id: string, maxAge: number, secure: boolean): string {
    // Without a Path it is valid for the API behind any prefix of a proxy.
    return serialize(this.#cookieName, id, { maxAge, httpOnly: true, secure, sameSite: "Strict" });
  }

  #sessionHash(request: Request): string | undefined {
    const id = parse(request.headers.get("cookie") ?? "", this.#cookieName)[this.#cookieName];
    return id === undefined ? undefined : sha256(id);
  }
}

function toBase64url(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

function sha256(id: string): string {
  return Bun.SHA256.hash(id, "base64url");
}
