// Who may use the console where a password is set: whoever has given it, for some hours.

import { Allowance } from "../../events/allowance.ts";
import type { Clock } from "../../events/event.ts";

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

/** Wrong passwords and right ones that an address may send; the addresses of which that is kept. */
const attemptsMax = 5;
const attemptsPeriodMs = 60_000;
const addressesMax = 1_000;

/** Passwords that wait to be judged; with more of them from many addresses nobody would get through for hours. */
const judgedAtOnceMax = 10;

/** `tooMany`: this address has tried too often in this minute, or too many addresses try at once. */
export type LogIn = { readonly cookie: string } | "wrong" | "tooMany";

export class Sessions {
  /** Another one for each server: to a browser all ports of a host are one place for cookies. */
  readonly #cookieName: string;
  readonly #options: SessionOptions;
  /** When each ends, by the hash of its id. */
  readonly #ends = new Map<string, number>();
  readonly #attempts = new Map<string, Allowance>();
  /** One password at a time: each costs 64 MiB and a good part of a second of a processor. */
  #judging: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#cookieName = `plantstore_console_${textOf(options.randomBytes(serverBytes))}`;
  }

  get needPassword(): boolean {
    return this.#options.passwordHash !== undefined;
  }

  /** Whether a request may use the console. */
  admit(request: Request): boolean {
    if (!this.needPassword) return true;
    const hash = this.#sessionHash(request);
    const end = hash === undefined ? undefined : this.#ends.get(hash);
    return end !== undefined && this.#options.now() < end;
  }

  /** Begins a session for who knows the password. `isSecure`: the page was reached over TLS. */
  async logIn(password: string, address: string, isSecure: boolean): Promise<LogIn> {
    const { passwordHash, now } = this.#options;
    if (passwordHash === undefined || this.#waiting >= judgedAtOnceMax || !this.#mayTry(address))
      return "tooMany";
    if (!(await this.#isRight(password, passwordHash))) return "wrong";
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

  async #isRight(password: string, hash: string): Promise<boolean> {
    this.#waiting++;
    const judging = this.#judging.then(() => Bun.password.verify(password, hash));
    this.#judging = judging.catch(() => undefined);
    try {
      return await judging;
    } finally {
      this.#waiting--;
    }
  }

  #mayTry(address: string): boolean {
    const known = this.#attempts.get(address);
    if (known === undefined && this.#attempts.size >= addressesMax) {
      // Until a minute is over nobody who is not known yet may try.
      for (const [other, attempts] of this.#attempts)
        if (attempts.isOver(this.#options.now())) this.#attempts.delete(other);
      if (this.#attempts.size >= addressesMax) return false;
    }
    const attempts = known ?? new Allowance(attemptsMax, attemptsPeriodMs);
    this.#attempts.set(address, attempts);
    return attempts.take(this.#options.now()) !== undefined;
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
