// How many creates a token may send: RateLimit fields as draft-ietf-httpapi-ratelimit-headers-11 has them.

import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ContractError } from "../contract/errors.ts";
import type { TokenRecord } from "../store/token-store.ts";
import type { PublicExchange } from "./exchange.ts";

/** The name of the policy in its fields. */
const policyName = '"token"';

export class RateLimit {
  /** The RateLimit-Policy field: the quota of a token, and the window that it is for, in whole seconds. */
  readonly policy: string;
  readonly #createsPerSecond: number;
  readonly #limiter: RateLimiterMemory;

  /**
   * Counts each token by itself, in the memory of this server. `burst` creates may come at once, in a window that is
   * as long as the rate needs for them: 10 a second with a burst of 50 are 50 in each 5 seconds.
   */
  constructor({ createsPerSecond, burst }: { createsPerSecond: number; burst: number }) {
    const windowSeconds = burst / createsPerSecond;
    this.#createsPerSecond = createsPerSecond;
    this.#limiter = new RateLimiterMemory({ points: burst, duration: windowSeconds });
    this.policy = `${policyName};q=${burst};w=${Math.ceil(windowSeconds)}`;
  }

  /** Counts one create of a token, and notes what is left to it: overRate if it was one too many, else undefined. */
  async take({ hash }: TokenRecord, exchange: PublicExchange): Promise<ContractError | undefined> {
    try {
      exchange.rateLimit = fieldOf(await this.#limiter.consume(hash));
      return undefined;
    } catch (rejection) {
      if (!(rejection instanceof RateLimiterRes)) throw rejection;
      exchange.rateLimit = fieldOf(rejection);
      return this.#overRate(secondsUntilNext(rejection));
    }
  }

  #overRate(retryAfterSeconds: number): ContractError {
    const unit = retryAfterSeconds === 1 ? "second" : "seconds";
    const message =
      `This token is over its rate of ${this.#createsPerSecond} creates a second; ` +
      `try again in ${retryAfterSeconds} ${unit}.`;
    return new ContractError("overRate", message, { retryAfterSeconds });
  }
}

function fieldOf(state: RateLimiterRes): string {
  return `${policyName};r=${state.remainingPoints};t=${secondsUntilNext(state)}`;
}

function secondsUntilNext({ msBeforeNext }: RateLimiterRes): number {
  return Math.max(1, Math.ceil(msBeforeNext / 1_000));
}
