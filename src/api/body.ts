// The body of a request, within limits of bytes and time.

import { ContractError, unavailable } from "../contract/errors.ts";
import { Arrivals, late } from "./arrivals.ts";
import { GatheredChunks } from "./gathered-chunks.ts";

export interface BodyLimits {
  /** Bytes of one body; one over it is bodyTooLarge. */
  readonly bodyBytesMax: number;
  /** Bytes of all bodies that are on their way or being judged; what comes past it is `unavailable`. */
  readonly inFlightBytesMax: number;
  /** Time for a body to arrive, in milliseconds; one that takes longer is tooSlow. */
  readonly arrivalMsMax: number;
}

/** Reads bodies, and bounds the memory and the time that they may take. */
export class Bodies {
  readonly #limits: BodyLimits;
  readonly #arrivals: Arrivals;
  #bytesInFlight = 0;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.#arrivals = new Arrivals(limits.arrivalMsMax);
  }

  /** The memory that is set aside for bodies at present. */
  get bytesInFlight(): number {
    return this.#bytesInFlight;
  }

  /**
   * What `use` makes of a body, or why it was not read to its end. What is over a limit is not read. Not async itself:
   * a promise that returns another one takes three more turns of the microtasks.
   */
  read<T>(request: Request, use: (body: Uint8Array) => T): Promise<T | ContractError> {
    const announced = request.headers.get("content-length");
    if (announced !== null) return this.#readAnnounced(request, Number(announced), use);
    return request.body === null
      ? Promise.resolve(use(new Uint8Array()))
      : this.#readChunked(request.body, use);
  }

  async #readAnnounced<T>(
    request: Request,
    bytes: number,
    use: (body: Uint8Array) => T,
  ): Promise<T | ContractError> {
    if (bytes > this.#limits.bodyBytesMax) return this.#tooLarge();
    if (!this.#setAside(bytes)) return tooManyBytes();
    try {
      const body = await this.#arrivals.inTime(request.bytes());
      return body === late ? this.#tooSlow() : use(body);
    } finally {
      this.#bytesInFlight -= bytes;
    }
  }

  async #readChunked<T>(
    stream: ReadableStream<Uint8Array>,
    use: (body: Uint8Array) => T,
  ): Promise<T | ContractError> {
    const gathered = new GatheredChunks(this.#limits.bodyBytesMax, (bytes) => this.#setAside(bytes));
    try {
      const end = await this.#arrivals.inTime(gathered.gather(stream));
      switch (end) {
        case "tooLarge":
          return this.#tooLarge();
        case "noRoom":
          return tooManyBytes();
        case late:
          return this.#tooSlow();
        case "whole":
          return use(gathered.body);
      }
    } finally {
      gathered.stop();
      this.#bytesInFlight -= gathered.bytesSetAside;
    }
  }

  #setAside(bytes: number): boolean {
    if (this.#bytesInFlight + bytes > this.#limits.inFlightBytesMax) return false;
    this.#bytesInFlight += bytes;
    return true;
  }

  #tooLarge(): ContractError {
    const message = `The body is over the limit of ${this.#limits.bodyBytesMax} bytes; send a smaller plant.`;
    return new ContractError("bodyTooLarge", message);
  }

  #tooSlow(): ContractError {
    const seconds = this.#limits.arrivalMsMax / 1_000;
    const message = `The body did not arrive within ${seconds} ${seconds === 1 ? "second" : "seconds"}; sending it again is safe.`;
    return new ContractError("tooSlow", message);
  }
}

function tooManyBytes(): ContractError {
  return unavailable("The server has too many bodies to read at present and did not read this one");
}
