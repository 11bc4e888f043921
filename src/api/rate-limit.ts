// How many creates a caller may send: RateLimit fields as draft-ietf-httpapi-ratelimit-headers-11 has them.

import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";
import { ContractError } from "../contract/errors.ts";
import type { Caller } from "../tokens/caller.ts";
import type { PublicExchange } from "./exchange.ts";

/** The name of the policy in its fields. */
const policyName = '"token"';

export class RateLimit {
  /** The RateLimit-Policy field: the quota of a caller, and the window that it is for, in whole seconds. */
  readonly policy: string;
  readonly #createsPerSecond: number;
  readonly #limiter: RateLimiterMemory;

  /**
   * Counts each caller by itself, in the memory of this server. `burst` creates may come at once, in a window that is
   * as long as the rate needs for them: 10 a second with a burst of 50 are 50 in each 5 seconds.
   */
  constructor({ createsPerSecond, burst }: { createsPerSecond: number; burst: number }) {
    const windowSeconds = burst / createsPerSecond;
    this.#createsPerSecond = createsPerSecond;
    this.#limiter = new RateLimiterMemory({ points: burst, duration: windowSeconds });
    this.policy = `${policyName};q=${burst};w=${Math.ceil(windowSeconds)}`;
  }

  /** Counts one create of a caller, and notes what is left to it: overRate if it was one too many, else undefined. */
  async take({ key }: Caller, exchange: PublicExchange): Promise<ContractError | undefined> {
    try {
      exchange.rateLimit = fieldOf(await this.#limiter.consume(key));
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
