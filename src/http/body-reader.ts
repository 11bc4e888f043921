// Reads the body of a request within limits of bytes, time and memory.

import type { Caller } from "../auth/caller.ts";
import { ApiError, unavailable } from "../base/errors.ts";
import { shorten } from "../contract/plant.ts";
import { SharedBudget } from "../store/fair-share.ts";

export interface BodyLimits {
  /** Bytes of one body; a longer one is contentTooLarge. */
  readonly bodyBytesMax: number;
  /**
   * Bytes of all bodies in flight, each with its whole length; beyond it, or a caller's share, a
   * body is `unavailable`.
   */
  readonly inFlightBytesMax: number;
  /** Time for a body to arrive, in milliseconds; a slower one is requestTimeout. */
  readonly arrivalMsMax: number;
}

/** RFC 9110, section 8.6. Bun joins repeated fields with commas. */
const wellFormedLength = /^[0-9]+$/;

/** The request whose body is read: `start` keeps its memory and its time-out in these fields. */
export interface BodyOwner {
  readonly callerKey: string;
  /** 0 before `start`. */
  reservedBytes: number;
  /** noSlot before `start`. */
  timeoutSlot: number;
  /** Whether its response is decided, by a time-out or otherwise. */
  readonly isSettled: boolean;
  /** Called if the body does not arrive in time. */
  reject(error: ApiError): void;
}

/** Reads bodies, and limits the memory and the time that they take. */
export class BodyReader {
  readonly #limits: BodyLimits;
  readonly #timeouts: BodyTimeouts;
  /** The memory that is reserved for bodies, also for those of responses. */
  readonly memory: SharedBudget;

  constructor(limits: BodyLimits) {
    this.#limits = limits;
    this.#timeouts = new BodyTimeouts(limits.arrivalMsMax, (owner, error) => {
      this.end(owner);
      owner.reject(error);
    });
    this.memory = new SharedBudget(() => Math.max(limits.inFlightBytesMax, limits.bodyBytesMax));
  }

  /**
   * The body of a request, or the limit that it exceeds. Rejects if the client aborts. If the body
   * does not arrive in time, its owner gets the error, and the promise may never settle.
   */
  start(request: Request, owner: BodyOwner): Promise<Uint8Array | ApiError> | ApiError {
    const contentLength = request.headers.get("content-length");
    if (contentLength !== null && !wellFormedLength.test(contentLength)) return badLength(contentLength);
    const bytes = contentLength === null ? undefined : Number(contentLength);
    if (bytes !== undefined && bytes > this.#limits.bodyBytesMax) return this.#tooLarge();

    // The whole length, also before it arrives: Bun keeps up to a megabyte of a body that nobody
    // reads, and as much of one that is read slowly.
    const heldBytes = bytes ?? (request.body === null ? 0 : this.#limits.bodyBytesMax);
    if (!this.memory.acquire(owner.callerKey, heldBytes)) return memoryExceeded;
    owner.reservedBytes = heldBytes;
    this.#timeouts.add(owner);
    return bytes === undefined && request.body !== null
      ? this.#readChunks(request.body, owner)
      : request.bytes();
  }

  /**
   * Reads a body as `start` does, and stops its time-out when it has arrived. Its memory is held until
   * `end`.
   */
  async readHeld(request: Request, owner: BodyOwner): Promise<Uint8Array | ApiError> {
    const body = await this.start(request, owner);
    this.stopTimeout(owner);
    const heldBytes = body instanceof ApiError ? 0 : Math.min(body.length, owner.reservedBytes);
    this.memory.release(owner.callerKey, owner.reservedBytes - heldBytes);
    owner.reservedBytes = heldBytes;
    return body;
  }

  /** Stops the time-out of a body that has arrived, and keeps its memory. */
  stopTimeout(owner: BodyOwner): void {
    this.#timeouts.delete(owner);
  }

  /** Releases the memory, and stops the time-out. Call it when the body is parsed. */
  end(owner: BodyOwner): void {
    this.stopTimeout(owner);
    this.memory.release(owner.callerKey, owner.reservedBytes);
    owner.reservedBytes = 0;
  }

  /** Reads a whole body, or returns the limit that it exceeds. Rejects if the client aborts. */
  async read(request: Request, caller: Pick<Caller, "key">): Promise<Uint8Array | ApiError> {
    const { promise, resolve } = Promise.withResolvers<ApiError>();
    const owner = {
      callerKey: caller.key,
      reservedBytes: 0,
      timeoutSlot: noSlot,
      isSettled: false,
      reject(error: ApiError) {
        owner.isSettled = true;
        resolve(error);
      },
    };
    try {
      return await Promise.race([this.start(request, owner), promise]);
    } finally {
      this.end(owner);
    }
  }

  /** The error of a body of so many bytes. */
  checkSize(bytes: number): ApiError | undefined {
    return bytes > this.#limits.bodyBytesMax ? this.#tooLarge() : undefined;
  }

  /**
   * Reads a body of unknown length into a buffer that doubles: a list of its chunks would hold 100
   * MB for a megabyte in chunks of one byte.
   */
  async #readChunks(stream: ReadableStream<Uint8Array>, owner: BodyOwner): Promise<Uint8Array | ApiError> {
    const { bodyBytesMax } = this.#limits;
    let buffer = new Uint8Array();
    let bytes = 0;
    for await (const chunk of stream) {
      // Nothing is reserved after a time-out.
      if (owner.isSettled) break;
      const needed = bytes + chunk.length;
      if (needed > bodyBytesMax) return this.#tooLarge();
      if (needed > buffer.length) {
        const size = Math.min(bodyBytesMax, Math.max(4_096, 2 * needed));
        buffer = new Uint8Array(buffer.buffer.transfer(size));
      }
      buffer.set(chunk, bytes);
      bytes = needed;
    }
    return buffer.subarray(0, bytes);
  }

  #tooLarge(): ApiError {
    const message = `The body is over the limit of ${this.#limits.bodyBytesMax} bytes; send a smaller one.`;
    return new ApiError("contentTooLarge", message);
  }
}

/** The resolution of a time-out: a body times out up to an eighth of its time later. */
const ticksMax = 8;

/** The slot of an owner whose body is not waited for. */
export const noSlot = -1;

/**
 * Time-outs of the same length, with one timer for all, and owners in numbered slots: a timer for each
 * body, or an ordered Set, cost creates a measurable part of their time.
 */
class BodyTimeouts {
  readonly #timeoutMs: number;
  readonly #onTimeout: (owner: BodyOwner, error: ApiError) => void;
  readonly #owners: (BodyOwner | undefined)[] = [];
  /** The tick at which the wait for the owner in each slot began. */
  readonly #startTicks: number[] = [];
  readonly #freeSlots: number[] = [];
  #timer: Timer | undefined;
  #tick = 0;

  constructor(timeoutMs: number, onTimeout: (owner: BodyOwner, error: ApiError) => void) {
    this.#timeoutMs = timeoutMs;
    this.#onTimeout = onTimeout;
  }

  add(owner: BodyOwner): void {
    const slot = this.#freeSlots.pop() ?? this.#owners.length;
    this.#owners[slot] = owner;
    this.#startTicks[slot] = this.#tick;
    owner.timeoutSlot = slot;
    this.#timer ??= setInterval(() => this.#advance(), this.#timeoutMs / ticksMax).unref();
  }

  delete(owner: BodyOwner): void {
    const slot = owner.timeoutSlot;
    if (slot === noSlot) return;
    owner.timeoutSlot = noSlot;
    this.#owners[slot] = undefined;
    this.#freeSlots.push(slot);
  }

  #advance(): void {
    this.#tick++;
    for (const [slot, owner] of this.#owners.entries())
      if (owner !== undefined && this.#tick - (this.#startTicks[slot] ?? 0) > ticksMax)
        this.#onTimeout(owner, this.#timeoutError());
    if (this.#freeSlots.length < this.#owners.length) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #timeoutError(): ApiError {
    const seconds = this.#timeoutMs / 1_000;
    const message = `The body did not arrive within ${seconds} ${seconds === 1 ? "second" : "seconds"}; sending it again is safe.`;
    return new ApiError("requestTimeout", message);
  }
}

function badLength(contentLength: string): ApiError {
  const message = `The Content-Length is ${JSON.stringify(shorten(contentLength))}; send it once, as one decimal number.`;
  return new ApiError("badRequest", message);
}

const tooManyBodies = unavailable("The server has too many bodies to read and did not read this one");

/** Closes the connection: what the client goes on to send would fill the buffers of the kernel. */
const memoryExceeded = new ApiError("unavailable", tooManyBodies.message, {
  ...tooManyBodies.details,
  closesConnection: true,
});
