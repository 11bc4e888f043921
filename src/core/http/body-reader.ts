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

  /** The error of a body that does not arrive in time. */
  get timeoutError(): ApiError {
    return this.#timeouts.error;
  }

  /**
   * Starts to read the body of a request, or returns the limit that it exceeds.
   *
   * @param responder refuses the request if the body does not arrive in time; then `body` may never settle.
   */
  start(request: Request, { key }: Caller, responder: TimeoutResponder): BodyReading | ApiError {
    const contentLength = request.headers.get("content-length");
    if (contentLength !== null && !wellFormedLength.test(contentLength)) return badLength(contentLength);
    const bytes = contentLength === null ? undefined : Number(contentLength);
    if (bytes !== undefined && bytes > this.#limits.bodyBytesMax) return this.#tooLarge();

    const reading = new BodyReading(this.#memory, key, this.#timeouts, responder);
    if (bytes !== undefined && bytes <= smallBytesMax) {
      if (!reading.reserve(bytes)) return memoryExceeded();
      reading.body = request.bytes();
    } else if (request.body !== null) {
      reading.body = this.#readChunks(request.body, reading, bytes ?? this.#limits.bodyBytesMax);
    }
    this.#timeouts.add(reading);
    return reading;
  }

  /** Reads a whole body, and returns it or the limit that it exceeds. Rejects if the client aborts. */
  read(request: Request, caller: Caller): Promise<Uint8Array | ApiError> {
    return new Promise((resolve, reject) => {
      const reading = this.start(request, caller, { refuse: resolve });
      if (reading instanceof ApiError) resolve(reading);
      else reading.body.finally(() => reading.end()).then(resolve, reject);
    });
  }

  /** Reserves memory for the bytes received: a client that declares a megabyte and sends a byte takes 4 KiB. */
  async #readChunks(
    stream: ReadableStream<Uint8Array>,
    reading: BodyReading,
    bytesMax: number,
  ): Promise<Uint8Array | ApiError> {
    const buffer = new BodyBuffer(bytesMax, reading);
    switch (await buffer.readAll(stream)) {
      case "tooLarge":
        return this.#tooLarge();
      case "memoryLimit":
        return memoryExceeded();
      case "complete":
        return buffer.body;
    }
  }

  #tooLarge(): ApiError {
    const message = `The body is over the limit of ${this.#limits.bodyBytesMax} bytes; send a smaller plant.`;
    return new ApiError("contentTooLarge", message);
  }
}

/** Refuses a request whose body has timed out. */
interface TimeoutResponder {
  refuse(error: ApiError): void;
}

/** A body that is being read: its memory and its time-out. */
export class BodyReading {
  readonly #memory: SharedBudget;
  readonly #caller: string;
  readonly #timeouts: BodyTimeouts;
  readonly #responder: TimeoutResponder;
  /** The body, or the limit that it exceeds. Rejects if the client aborts. */
  body: Promise<Uint8Array | ApiError> = emptyBody;
  /** The tick of the time-outs in which it started. */
  readonly startTick: number;
  hasTimedOut = false;
  #bytesReserved = 0;

  constructor(memory: SharedBudget, caller: string, timeouts: BodyTimeouts, responder: TimeoutResponder) {
    this.#memory = memory;
    this.#caller = caller;
    this.#timeouts = timeouts;
    this.#responder = responder;
    this.startTick = timeouts.currentTick;
  }

  get bytesReserved(): number {
    return this.#bytesReserved;
  }

  /** Reserves memory in addition to what it has; false if there is not enough. */
  reserve(bytes: number): boolean {
    if (!this.#memory.acquire(this.#caller, bytes, this.#bytesReserved)) return false;
    this.#bytesReserved += bytes;
    return true;
  }

  /** Releases the memory, and stops the time-out. Call it when the body is parsed. */
  end(): void {
    this.#timeouts.delete(this);
    this.#memory.release(this.#caller, this.#bytesReserved);
    this.#bytesReserved = 0;
  }

  /** @param error the time-out. */
  timeOut(error: ApiError): void {
    this.hasTimedOut = true;
    this.end();
    this.#responder.refuse(error);
  }
}

const emptyBody = Promise.resolve(new Uint8Array());

/** The chunks of a body in one buffer that doubles: a list of them would hold 100 MB for a megabyte in chunks of one byte. */
class BodyBuffer {
  readonly #bytesMax: number;
  readonly #reading: BodyReading;
  #buffer = new Uint8Array();
  #bytes = 0;

  constructor(bytesMax: number, reading: BodyReading) {
    this.#bytesMax = bytesMax;
    this.#reading = reading;
  }

  get body(): Uint8Array {
    return this.#buffer.subarray(0, this.#bytes);
  }

  /** Reads to the end of the stream, or until the body exceeds a limit. */
  async readAll(stream: ReadableStream<Uint8Array>): Promise<"complete" | "tooLarge" | "memoryLimit"> {
    for await (const chunk of stream) {
      // Nothing is reserved after a time-out.
      if (this.#reading.hasTimedOut) break;
      const needed = this.#bytes + chunk.length;
      if (needed > this.#bytesMax) return "tooLarge";
      if (needed > this.#buffer.length && !this.#grow(needed)) return "memoryLimit";
      this.#buffer.set(chunk, this.#bytes);
      this.#bytes = needed;
    }
    return "complete";
  }

  #grow(needed: number): boolean {
    const size = Math.min(this.#bytesMax, Math.max(4_096, 2 * needed));
    if (!this.#reading.reserve(size - this.#buffer.length)) return false;
    const larger = new Uint8Array(size);
    larger.set(this.body);
    this.#buffer = larger;
    return true;
  }
}

/** The resolution of a time-out: a body times out after its time, or at most an eighth of it later. */
const ticksMax = 8;

/** Time-outs of the same length, with one timer for all. A timer for each body cost up to 8 % of the creates at 256 connections. */
class BodyTimeouts {
  readonly #timeoutMs: number;
  /** In the order of their start: the first is the next to time out. */
  readonly #pending = new Set<BodyReading>();
  #timer: Timer | undefined;
  currentTick = 0;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  add(reading: BodyReading): void {
    this.#pending.add(reading);
    this.#timer ??= setInterval(() => this.#tick(), this.#timeoutMs / ticksMax).unref();
  }

  delete(reading: BodyReading): void {
    this.#pending.delete(reading);
  }

  #tick(): void {
    this.currentTick++;
    for (const reading of this.#pending) {
      if (this.currentTick - reading.startTick <= ticksMax) break;
      reading.timeOut(this.error);
    }
    if (this.#pending.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  get error(): ApiError {
    const seconds = this.#timeoutMs / 1_000;
    const message = `The body did not arrive within ${seconds} ${seconds === 1 ? "second" : "seconds"}; sending it again is safe.`;
    return new ApiError("requestTimeout", message);
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
