// The tokens of a simulation, and whether each is valid at a given time.

import { makeToken } from "../../../src/auth/token.ts";
import type { TokenStore } from "../../../src/store/token-store.ts";
import type { EnvironmentParts } from "./environment.ts";

/** Revocations are noticed within so long. */
const noticeMsMax = 2_000;

interface Issued {
  readonly token: string;
  readonly name: string;
  readonly expiresAt: number | null;
  revokedAt: number;
}

/** What a request with a token must meet, if anything is certain. */
export type Verdict = "accepted" | "refused" | "either";

export class SimulatedTokens {
  readonly #parts: EnvironmentParts;
  readonly #store: TokenStore;
  readonly #issued: Issued[] = [];

  constructor(parts: EnvironmentParts, store: TokenStore) {
    this.#parts = parts;
    this.#store = store;
  }

  /** Issues a token; it may be one with an end. */
  async issue(mayEnd = true): Promise<void> {
    const { random, time } = this.#parts;
    const expiresAt =
      mayEnd && random.chance(0.5) ? time.wallNow() + Math.floor(random.between(-5_000, 60_000)) : null;
    const name = `token ${this.#issued.length}`;
    const randomBytes = (count: number) => Uint8Array.from({ length: count }, () => random.below(256));
    const made = makeToken({ name, expiresAt }, { now: time.wallNow(), randomBytes });
    await this.#store.add(made.record);
    this.#issued.push({ token: made.token, name, expiresAt, revokedAt: Number.POSITIVE_INFINITY });
  }

  /** Revokes one, but never the first. */
  async revoke(): Promise<void> {
    const { random, time } = this.#parts;
    const index = random.below(this.#issued.length);
    const issued = this.#issued[index];
    if (index === 0 || issued === undefined || issued.revokedAt <= time.now()) return;
    issued.revokedAt = time.now();
    await this.#store.revoke(issued.name, time.wallNow());
  }

  /** The first, which is always active. */
  get first(): string {
    return this.#issued[0]?.token ?? "";
  }

  /** A token as some client has it, and what a request that is sent now and answered when `verdict` is called must meet. */
  any(): { token: string; verdict: () => Verdict } {
    const { random, time } = this.#parts;
    if (random.chance(0.03)) return { token: "pst_unknown", verdict: () => "refused" };
    if (random.chance(0.7)) return { token: this.first, verdict: () => "accepted" };
    const issued = random.pick(this.#issued);
    const [before, wallAheadMs] = [this.#verdict(issued), time.wallAheadMs];
    // A token that a server does not know yet is accepted or rejected once it has been looked up, some time after it was sent.
    const verdict = () =>
      time.wallAheadMs === wallAheadMs && this.#verdict(issued) === before ? before : "either";
    return { token: issued.token, verdict };
  }

  #verdict({ expiresAt, revokedAt }: Issued): Verdict {
    const { time } = this.#parts;
    if (expiresAt !== null && expiresAt <= time.wallNow()) return "refused";
    if (revokedAt + noticeMsMax <= time.now()) return "refused";
    return revokedAt <= time.now() ? "either" : "accepted";
  }
}
