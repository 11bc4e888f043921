// Who may use the console where a password is set: whoever has given it, for some hours.

import type { Clock } from "../../observability/server-event.ts";
import { LoginQueue } from "./login-queue.ts";

/** Random bytes that nobody can guess. */
type RandomBytes = (count: number) => Uint8Array;

export interface SessionOptions {
  /** Argon2id; undefined where no password is asked for. */
  readonly passwordHash: string | undefined;
  readonly now: Clock;
  readonly randomBytes: RandomBytes;
}

const sessionSeconds = 12 * 3_600;
const idBytes = 32;
const serverBytes = 6;

/** `tooMany`: see LoginQueue. */
export type LogIn = { readonly cookie: string } | "wrong" | "tooMany";

export class Sessions {
  /** Another one for each server: to a browser all ports of a host are one place for cookies. */
  readonly #cookieName: string;
  readonly #options: SessionOptions;
  /** When each ends, by the hash of its id. */
  readonly #ends = new Map<string, number>();
  readonly #queue: LoginQueue;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#queue = new LoginQueue(options.now);
    this.#cookieName = `plantstore_console_${textOf(options.randomBytes(serverBytes))}`;
  }

  get requiresPassword(): boolean {
    return this.#options.passwordHash !== undefined;
  }

  /** Whether a request may use the console. */
  admit(request: Request): boolean {
    if (!this.requiresPassword) return true;
    const hash = this.#sessionHash(request);
    const end = hash === undefined ? undefined : this.#ends.get(hash);
    return end !== undefined && this.#options.now() < end;
  }

  /** Begins a session for who knows the password. `isSecure`: the page was reached over TLS. */
  async logIn(password: string, address: string, isSecure: boolean): Promise<LogIn> {
    const { passwordHash, now } = this.#options;
    if (passwordHash === undefined) return "wrong";
    const isRight = await this.#queue.run(address, () => Bun.password.verify(password, passwordHash));
    if (isRight !== true) return isRight === "tooMany" ? "tooMany" : "wrong";
    for (const [hash, end] of this.#ends) if (end <= now()) this.#ends.delete(hash);
    const id = textOf(this.#options.randomBytes(idBytes));
    this.#ends.set(hashOf(id), now() + sessionSeconds * 1_000);
    return { cookie: this.#cookie(id, sessionSeconds, isSecure) };
  }

  /** Ends the session of a request, and gives the cookie that makes the browser forget it. */
  logOut(request: Request): string {
    const hash = this.#sessionHash(request);
    if (hash !== undefined) this.#ends.delete(hash);
    return this.#cookie("", 0, false);
  }

  /** Without a path, so that it goes to the calls beside those that begin and end a session, wherever a proxy has them. */
  #cookie(id: string, seconds: number, isSecure: boolean): string {
    const secure = isSecure ? "; Secure" : "";
    return `${this.#cookieName}=${id}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
  }

  #sessionHash(request: Request): string | undefined {
    const cookies = (request.headers.get("cookie") ?? "").split(/; */);
    const own = cookies.find((one) => one.startsWith(`${this.#cookieName}=`));
    return own === undefined ? undefined : hashOf(own.slice(this.#cookieName.length + 1));
  }
}

function textOf(bytes: Uint8Array): string {
  return bytes.toBase64({ alphabet: "base64url", omitPadding: true });
}

/** So that the time of a comparison tells nothing about an id. */
function hashOf(id: string): string {
  return Bun.SHA256.hash(id, "base64url");
}
