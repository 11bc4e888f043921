// How many creates a token may send in a second.

import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ContractError, retryAfterSeconds } from "../contract/errors.ts";
import type { TokenRecord } from "../store/token-store.ts";

export class RateLimit {
  readonly #createsPerSecond: number;
  readonly #limiter: RateLimiterMemory;

  /** Counts in windows of one second, each token by itself, in the memory of this server. */
  constructor(createsPerSecond: number) {
    this.#createsPerSecond = createsPerSecond;
    this.#limiter = new RateLimiterMemory({ points: createsPerSecond, duration: retryAfterSeconds });
  }

  /** Counts one create of a token: overRate if it was one too many, else undefined. */
  async take({ hash }: TokenRecord): Promise<ContractError | undefined> {
    try {
      await this.#limiter.consume(hash);
      return undefined;
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      return new ContractError(
        "overRate",
        `This token is over its rate of ${this.#createsPerSecond} creates a second; try again in ${retryAfterSeconds} second.`,
      );
    }
  }
}
