// The body of a request: its media type, its buffer, and the limits of bytes and time within which it is read.

import { MIMEType } from "node:util";
import type { Caller } from "../auth/authenticator.ts";
import { ApiError, unavailable } from "../contract/errors.ts";
import { SharedBudget } from "../store/fair-share.ts";

export interface BodyLimits {
  /** Bytes of one body; a longer one is contentTooLarge. */
  readonly bodyBytesMax: number;
  /** Bytes of all bodies being received or parsed; a body past it, or past its caller's share of it, is `unavailable`. */
  readonly inFlightBytesMax: number;
  /** Time for a body to arrive, in milliseconds; a slower one is requestTimeout. */
  readonly arrivalMsMax: number;
}

/**
 * Bun reads a body up to this size in one piece, and its whole length is reserved at once. Read chunk by chunk, a body of
 * 8 KB costs some 20 µs more.
 */
const smallBytesMax = 16_384;

/** RFC 9110, section 8.6. Bun joins repeated fields with commas. */
const wellFormedLength = /^[0-9]+$/;

/** Why a request's media type is not accepted, or undefined if it is JSON in UTF-8. */
export function checkMediaType(headers: Headers): ApiError | undefined {
  const contentType = headers.get("content-type");
  if (contentType === "application/json") return undefined;
  if (contentType === null)
    return unsupportedMediaType("The Content-Type is missing; send application/json.");

  const mediaType = parseMediaType(contentType);
  if (mediaType?.essence !== "application/json") {
    return unsupportedMediaType(`The Content-Type is ${contentType}; send application/json.`);
  }
  const charset = mediaType.params.get("charset");
  if (charset !== null && charset.toLowerCase() !== "utf-8") {
    return unsupportedMediaType(
      `The Content-Type has charset ${charset}; send application/json, which is UTF-8.`,
    );
  }
  return undefined;
}

/** Reads bodies, and limits the memory and the time that they take. */
export class BodyReader {
  readonly #limits: BodyLimits;
  readonly #timeouts: BodyTimeouts;
  readonly #memory: SharedBudget;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.#timeouts = new BodyTimeouts(limits.arrivalMsMax);
    this.#memory = new SharedBudget(limits.inFlightBytesMax);
  }

  /** The memory that is reserved for bodies at present. */
  get bytesInFlight(): number {
    return this.#memory.used;
  }

  /**
   * Reads the body, and returns what `parse` returns for it, or the limit that it exceeds. Its memory stays reserved until
   * `parse` has returned. Rejects if the client aborts. Not async itself: returning a promise from an async function takes
   * three more microtasks.
   */
  read<T>(request: Request, { key }: Caller, parse: (body: Uint8Array) => T): Promise<T | ApiError> {
    const contentLength = request.headers.get("content-length");
    if (contentLength !== null && !wellFormedLength.test(contentLength))
      return Promise.resolve(badLength(contentLength));
    const bytes = contentLength === null ? undefined : Number(contentLength);
    if (bytes !== undefined && bytes > this.#limits.bodyBytesMax) return Promise.resolve(this.#tooLarge());
    if (bytes !== undefined && bytes <= smallBytesMax) return this.#readSmall(request, key, bytes, parse);
    return request.body === null
      ? Promise.resolve(parse(new Uint8Array()))
      : this.#readChunks(request.body, key, bytes ?? this.#limits.bodyBytesMax, parse);
  }

  async #readSmall<T>(
    request: Request,
    caller: string,
    bytes: number,
    parse: (body: Uint8Array) => T,
  ): Promise<T | ApiError> {
    if (!this.#memory.acquire(caller, bytes)) return memoryExceeded();
    try {
      const body = await this.#timeouts.withTimeout(request.bytes());
      return body === timedOut ? this.#requestTimeout() : parse(body);
    } finally {
      this.#memory.release(caller, bytes);
    }
  }

  /** Reserves memory for the bytes received: a client that declares a megabyte and sends a byte takes 4 KiB. */
  async #readChunks<T>(
    stream: ReadableStream<Uint8Array>,
    caller: string,
    bytesMax: number,
    parse: (body: Uint8Array) => T,
  ): Promise<T | ApiError> {
    const buffer = new BodyBuffer(bytesMax, (bytes, own) => this.#memory.acquire(caller, bytes, own));
    try {
      const result = await this.#timeouts.withTimeout(buffer.readAll(stream));
      switch (result) {
        case "tooLarge":
          return this.#tooLarge();
        case "memoryLimit":
          return memoryExceeded();
        case timedOut:
          return this.#requestTimeout();
        case "complete":
          return parse(buffer.body);
      }
    } finally {
      buffer.stop();
      this.#memory.release(caller, buffer.bytesReserved);
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

/** The chunks of a body in one buffer that doubles: a list of them would hold 100 MB for a megabyte in chunks of one byte. */
class BodyBuffer {
  readonly #bytesMax: number;
  readonly #reserve: (bytes: number, own: number) => boolean;
  #buffer = new Uint8Array();
  #bytes = 0;
  #isStopped = false;

  /** @param reserve reserves memory in addition to the bytes that this buffer holds already. */
  constructor(bytesMax: number, reserve: (bytes: number, own: number) => boolean) {
    this.#bytesMax = bytesMax;
    this.#reserve = reserve;
  }

  get body(): Uint8Array {
    return this.#buffer.subarray(0, this.#bytes);
  }

  get bytesReserved(): number {
    return this.#buffer.length;
  }

  /** Reads to the end of the stream, or until the body exceeds a limit. */
  async readAll(stream: ReadableStream<Uint8Array>): Promise<"complete" | "tooLarge" | "memoryLimit"> {
    for await (const chunk of stream) {
      if (this.#isStopped) break;
      const needed = this.#bytes + chunk.length;
      if (needed > this.#bytesMax) return "tooLarge";
      if (needed > this.#buffer.length && !this.#grow(needed)) return "memoryLimit";
      this.#buffer.set(chunk, this.#bytes);
      this.#bytes = needed;
    }
    return "complete";
  }

  /** Ends a read that timed out: nothing is reserved afterwards. */
  stop(): void {
    this.#isStopped = true;
  }

  #grow(needed: number): boolean {
    const size = Math.min(this.#bytesMax, Math.max(4_096, 2 * needed));
    if (!this.#reserve(size - this.#buffer.length, this.#buffer.length)) return false;
    const larger = new Uint8Array(size);
    larger.set(this.body);
    this.#buffer = larger;
    return true;
  }
}

export const timedOut = Symbol("timedOut");

/** The resolution of a time-out: a body times out after its time, or at most an eighth of it later. */
const ticksMax = 8;

interface PendingBody {
  /** The tick in which it started. */
  readonly startTick: number;
  readonly timeOut: () => void;
}

/** Time-outs of the same length, with one timer for all. A timer for each body cost up to 8 % of the creates at 256 connections. */
export class BodyTimeouts {
  readonly #tickMs: number;
  /** In the order of their start: the first is the next to time out. */
  readonly #pending = new Set<PendingBody>();
  #currentTick = 0;
  #timer: Timer | undefined;

  constructor(timeoutMs: number) {
    this.#tickMs = timeoutMs / ticksMax;
  }

  /** The value of a promise, or `timedOut`. Rejects if the promise does. */
  withTimeout<T>(promise: Promise<T>): Promise<T | typeof timedOut> {
    return new Promise((resolve, reject) => {
      const pending = { startTick: this.#currentTick, timeOut: () => resolve(timedOut) };
      this.#pending.add(pending);
      this.#timer ??= setInterval(() => this.#tick(), this.#tickMs).unref();
      promise.then(
        (value) => {
          this.#pending.delete(pending);
          resolve(value);
        },
        (error) => {
          this.#pending.delete(pending);
          reject(error);
        },
      );
    });
  }

  #tick(): void {
    this.#currentTick++;
    for (const pending of this.#pending) {
      if (this.#currentTick - pending.startTick <= ticksMax) break;
      this.#pending.delete(pending);
      pending.timeOut();
    }
    if (this.#pending.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

function parseMediaType(text: string): MIMEType | undefined {
  try {
    return new MIMEType(text);
  } catch {
    // MIMEType throws for a malformed media type, and for nothing else.
    return undefined;
  }
}

function unsupportedMediaType(message: string): ApiError {
  return new ApiError("unsupportedMediaType", message);
}

function badLength(contentLength: string): ApiError {
  const preview = contentLength.length > 40 ? `${contentLength.slice(0, 40)}…` : contentLength;
  const message = `The Content-Length is ${JSON.stringify(preview)}; send it once, as one decimal number.`;
  return new ApiError("badRequest", message);
}

function memoryExceeded(): ApiError {
  return unavailable("The server has too many bodies to read at present and did not read this one");
}
