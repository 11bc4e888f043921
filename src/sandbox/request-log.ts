// Keeps the newest requests and their responses.

import { EventEmitter, once } from "node:events";
import type { RecordedRequest as DescribedRequest } from "../../packages/sandbox/src/control-types.ts";

/** Older requests are dropped. */
export const requestsMax = 10_000;

/** Bytes of all bodies and fields; beyond it the oldest requests are dropped. */
export const logBytesMax = 64 * 2 ** 20;

export type Ending = DescribedRequest["ended"];

/** The rule or the preferences that forced an outcome on a request. */
export type ForcedBy = NonNullable<DescribedRequest["forced"]>;

/** Names and values as they were written, in their order. */
export type Fields = readonly (readonly [name: string, value: string])[];

export interface LoggedBody {
  /** The body without its framing, or the first bytes of it. */
  readonly bytes: Buffer;
  /** The number of all of its bytes. */
  readonly length: number;
}

export function wholeBody(bytes: Buffer): LoggedBody {
  return { bytes, length: bytes.length };
}

/** A request that has ended, and its response. */
export interface LoggedRequest {
  readonly number: number;
  readonly connection: number;
  /** Milliseconds since the epoch, by the clock of the machine. */
  readonly startedAt: number;
  readonly durationMs: number;
  readonly request: {
    /** Null, as are target and version, for bytes that are not HTTP. */
    readonly method: string | null;
    readonly target: string | null;
    readonly version: DescribedRequest["request"]["version"];
    readonly headers: Fields;
    readonly body: LoggedBody;
  };
  /** Null where none was sent. */
  readonly response: {
    readonly status: number | null;
    readonly headers: Fields;
    readonly body: LoggedBody;
  } | null;
  readonly forced: ForcedBy | undefined;
  readonly ended: Ending;
}

/** Each request gets the next number, from 1 on, when it ends, and then does not change. */
export class RequestLog {
  readonly #requests = new Map<number, LoggedRequest>();
  readonly #added = new EventEmitter().setMaxListeners(0);
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

  add(request: Omit<LoggedRequest, "number">): void {
    const number = ++this.#last;
    this.#requests.set(number, { ...request, number });
    this.#bytes += storedBytes(request);
    for (const [oldest, each] of this.#requests) {
      if (this.#requests.size <= requestsMax && this.#bytes <= logBytesMax) break;
      this.#requests.delete(oldest);
      this.#bytes -= storedBytes(each);
    }
    this.#added.emit("request");
  }

  /** The requests with a number over `after`, in the order of their numbers. */
  *after(after: number): Generator<LoggedRequest> {
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
  async waitFor(after: number, signal: AbortSignal): Promise<void> {
    // The log may be empty, though it had later requests.
    while ((this.#requests.size === 0 || this.#last <= after) && !signal.aborted)
      await once(this.#added, "request", { signal }).catch(() => undefined);
  }
}

/** Bytes that a request takes in the log, but for the constant ones. */
export function storedBytes({ request, response }: Pick<LoggedRequest, "request" | "response">): number {
  return [request, response].reduce(
    (sum, message) =>
      sum + (message === null ? 0 : message.body.bytes.length + JSON.stringify(message.headers).length),
    request.target?.length ?? 0,
  );
}
