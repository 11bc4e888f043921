// The body of a request, within limits of bytes and time.

import type { Caller } from "../auth/caller.ts";
import { ApiError, unavailable } from "../contract/errors.ts";
import { SharedBudget } from "../store/fair-share.ts";
import { Arrivals, late } from "./arrivals.ts";
import { GatheredChunks } from "./gathered-chunks.ts";

export interface BodyLimits {
  /** Bytes of one body; one over it is contentTooLarge. */
  readonly bodyBytesMax: number;
  /** Bytes of all bodies that are on their way or being judged; what comes past it, or past its caller's share of it, is `unavailable`. */
  readonly inFlightBytesMax: number;
  /** Time for a body to arrive, in milliseconds; one that takes longer is requestTimeout. */
  readonly arrivalMsMax: number;
}

/**
 * A body up to this is read by Bun in one piece, and its whole length is set aside when it is announced: chunk by chunk
 * one of 8 KB costs some 20 µs more.
 */
const smallBytesMax = 16_384;

/** RFC 9110, section 8.6. Bun joins several that are equal with commas. */
const wellFormedLength = /^[0-9]+$/;

/** Reads bodies, and bounds the memory and the time that they may take. */
export class Bodies {
  readonly #limits: BodyLimits;
  readonly #arrivals: Arrivals;
  readonly #memory: SharedBudget;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.#arrivals = new Arrivals(limits.arrivalMsMax);
    this.#memory = new SharedBudget(limits.inFlightBytesMax);
  }

  /** The memory that is set aside for bodies at present. */
  get bytesInFlight(): number {
    return this.#memory.used;
  }

  /**
   * What `use` makes of a caller's body, or why it was not read to its end. What is over a limit is not read. Not async
   * itself: a promise that returns another one takes three more turns of the microtasks.
   */
  read<T>(request: Request, { key }: Caller, use: (body: Uint8Array) => T): Promise<T | ApiError> {
    const announced = request.headers.get("content-length");
    if (announced !== null && !wellFormedLength.test(announced)) return Promise.resolve(badLength(announced));
    const bytes = announced === null ? undefined : Number(announced);
    if (bytes !== undefined && bytes > this.#limits.bodyBytesMax) return Promise.resolve(this.#tooLarge());
    if (bytes !== undefined && bytes <= smallBytesMax) return this.#readSmall(request, key, bytes, use);
    return request.body === null
      ? Promise.resolve(use(new Uint8Array()))
      : this.#readChunks(request.body, key, bytes ?? this.#limits.bodyBytesMax, use);
  }

  async #readSmall<T>(
    request: Request,
    caller: string,
    bytes: number,
    use: (body: Uint8Array) => T,
  ): Promise<T | ApiError> {
    if (!this.#memory.acquire(caller, bytes)) return tooManyBytes();
    try {
      const body = await this.#arrivals.inTime(request.bytes());
      return body === late ? this.#requestTimeout() : use(body);
    } finally {
      this.#memory.release(caller, bytes);
    }
  }

  /** Sets memory aside for what has arrived: a client that announces a megabyte and sends a byte takes next to nothing. */
  async #readChunks<T>(
    stream: ReadableStream<Uint8Array>,
    caller: string,
    bytesMax: number,
    use: (body: Uint8Array) => T,
  ): Promise<T | ApiError> {
    const gathered = new GatheredChunks(bytesMax, (bytes, ofThisBody) =>
      this.#memory.acquire(caller, bytes, ofThisBody),
    );
    try {
      const end = await this.#arrivals.inTime(gathered.gather(stream));
      switch (end) {
        case "tooLarge":
          return this.#tooLarge();
        case "noRoom":
          return tooManyBytes();
        case late:
          return this.#requestTimeout();
        case "whole":
          return use(gathered.body);
      }
    } finally {
      gathered.stop();
      this.#memory.release(caller, gathered.bytesSetAside);
    }
  }

  #tooLarge(): ApiError {
    const message = `The body is over the limit of ${this.#limits.bodyBytesMax} bytes; send a smaller plant.`;
    return new ApiError("contentTooLarge", message);
  }

  #requestTimeout(): ApiError {
    const seconds = this.#limits.arrivalMsMax / 1_000;
    const message = `The body did not arrive within ${seconds} ${seconds === 1 ? "second" : "seconds"}; sending it again is safe.`;
    return new ApiError("requestTimeout", message);
  }
}

function badLength(announced: string): ApiError {
  const shown = announced.length > 40 ? `${announced.slice(0, 40)}…` : announced;
  const message = `The Content-Length is ${JSON.stringify(shown)}; send it once, as one decimal number.`;
  return new ApiError("badRequest", message);
}

function tooManyBytes(): ApiError {
  return unavailable("The server has too many bodies to read at present and did not read this one");
}
