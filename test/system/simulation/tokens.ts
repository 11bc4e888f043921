// The tokens of a simulation, and whether each must be accepted at a given time.

import { makeToken } from "../../../src/core/auth/token.ts";
import type { TokenStore } from "../../../src/core/store/sql-tokens.ts";
import type { SimulationParts } from "./environment.ts";

/** Revocations take effect within this time. */
const noticeMsMax = 2_000;

interface Issued {
  readonly token: string;
  readonly name: string;
  readonly expiresAt: number | null;
  revokedAt: number;
}

/** Whether a token must be accepted or refused; `either` while that is not certain. */
export type Expectation = "accepted" | "refused" | "either";

export class SimulatedTokens {
  readonly #parts: SimulationParts;
  readonly #store: TokenStore;
  readonly #issued: Issued[] = [];

  constructor(parts: SimulationParts, store: TokenStore) {
    this.#parts = parts;
    this.#store = store;
  }

  /** Issues a token, which may expire. */
  async issue(mayExpire = true): Promise<void> {
    const { random, time } = this.#parts;
    const expiresAt =
      mayExpire && random.chance(0.5) ? time.wallNow() + Math.floor(random.between(-5_000, 60_000)) : null;
    const name = `token ${this.#issued.length}`;
    const randomBytes = (count: number) => Uint8Array.from({ length: count }, () => random.below(256));
    const made = makeToken({ name, expiresAt }, { now: time.wallNow(), randomBytes });
    await this.#store.add(made.record);
    this.#issued.push({ token: made.token, name, expiresAt, revokedAt: Number.POSITIVE_INFINITY });
  }

  /** Revokes any token but the first. */
  async revoke(): Promise<void> {
    const { random, time } = this.#parts;
    const index = random.below(this.#issued.length);
    const issued = this.#issued[index];
    if (index === 0 || issued === undefined || issued.revokedAt <= time.now()) return;
    issued.revokedAt = time.now();
    await this.#store.revoke(issued.name, time.wallNow());
  }

  /** The first token, which is always active. */
  get first(): string {
    return this.#issued[0]?.token ?? "";
  }

  /**
   * Any token, and what a request with it must get that is sent now and has its response when
   * `expectation` is called.
   */
  any(): { token: string; expectation: () => Expectation } {
    const { random, time } = this.#parts;
    if (random.chance(0.03)) return { token: "pst_unknown", expectation: () => "refused" };
    if (random.chance(0.7)) return { token: this.first, expectation: () => "accepted" };
    // Often the newest, which a server has not read yet and must look up.
    const issued = (random.chance(0.5) ? this.#issued.at(-1) : undefined) ?? random.pick(this.#issued);
    const [before, wallAheadMs] = [this.#expectation(issued), time.wallAheadMs];
    // A token that a server does not know yet is checked after a look-up, some time after the
    // request was sent.
    const expectation = () =>
      time.wallAheadMs === wallAheadMs && this.#expectation(issued) === before ? before : "either";
    return { token: issued.token, expectation };
  }

  #expectation({ expiresAt, revokedAt }: Issued): Expectation {
    const { time } = this.#parts;
    if (expiresAt !== null && expiresAt <= time.wallNow()) return "refused";
    if (revokedAt + noticeMsMax <= time.now()) return "refused";
    return revokedAt <= time.now() ? "either" : "accepted";
  }
}
