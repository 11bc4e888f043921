// The log of requests and their responses, byte for byte.

import type { RecordedRequest as DescribedRequest } from "../../packages/sandbox/src/control-types.ts";
import type { StoredMessage } from "./kept-bytes.ts";

/** Older requests are dropped. */
export const requestsMax = 10_000;

/** Bytes of all requests and responses; beyond it the oldest are dropped. */
export const logBytesMax = 64 * 2 ** 20;

export type Ending = DescribedRequest["ended"];

/** The rule or the preferences that forced an outcome on a request. */
export type ForcedBy = NonNullable<DescribedRequest["forced"]>;

/** A request that has ended, and its response. */
export interface RecordedRequest {
  readonly number: number;
  readonly connection: number;
  /** Milliseconds since the epoch, by the clock of the machine. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly request: StoredMessage;
  /** Empty where none was sent. */
  readonly response: StoredMessage;
  readonly forced: ForcedBy | undefined;
  readonly ended: Ending;
}

/** Each request gets the next number, from 1 on, when it ends, and then does not change. */
export class RequestLog {
  readonly #requests = new Map<number, RecordedRequest>();
  readonly #listeners = new Set<() => void>();
  #bytes = 0;
  #last = 0;

  /** The number of the oldest request; one more than `last` if there is none. */
  get first(): number {
    const [first = this.#last + 1] = this.#requests.keys();
    return first;
  }

  /** The number of the newest request that was ever added; 0 before the first. */
  get last(): number {
    return this.#last;
  }

  add(request: Omit<RecordedRequest, "number">): void {
    const number = ++this.#last;
    this.#requests.set(number, { ...request, number });
    this.#bytes += storedBytes(request);
    for (const [oldest, { request: message, response }] of this.#requests) {
      if (this.#requests.size <= requestsMax && this.#bytes <= logBytesMax) break;
      this.#requests.delete(oldest);
      this.#bytes -= storedBytes({ request: message, response });
    }
    for (const listener of this.#listeners) listener();
  }

  get(number: number): RecordedRequest | undefined {
    return this.#requests.get(number);
  }

  /** The requests with a number over `after`, in the order of their numbers. */
  *after(after: number): Generator<RecordedRequest> {
    for (let number = Math.max(after + 1, this.first); number <= this.#last; number++) {
      const request = this.#requests.get(number);
      if (request !== undefined) yield request;
    }
  }

  /** Removes all requests. The next one gets the next number. */
  clear(): void {
    this.#requests.clear();
    this.#bytes = 0;
  }

  /** Resolves when there is a request with a number over `after`, or when the signal is aborted. */
  waitFor(after: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const check = () => {
      // The log may be empty, though it had later requests.
      if ((this.#requests.size > 0 && this.#last > after) || signal.aborted) resolve();
    };
    this.#listeners.add(check);
    signal.addEventListener("abort", check);
    check();
    return promise.finally(() => {
      this.#listeners.delete(check);
      signal.removeEventListener("abort", check);
    });
  }
}

function storedBytes({ request, response }: Pick<RecordedRequest, "request" | "response">): number {
  return request.bytes.length + response.bytes.length;
}
