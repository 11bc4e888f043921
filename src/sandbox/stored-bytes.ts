// The bytes of a message that is being recorded, within a limit for each message and one for all that are in flight.

/** Bytes of one message; the rest of a longer one is counted and not stored. */
export const messageBytesMax = 4 * 2 ** 20;

/** Bytes of all messages that are in flight. */
const inFlightBytesMax = 64 * 2 ** 20;

/** The memory of all messages that are in flight. */
export class InFlightBytes {
  #used = 0;

  get used(): number {
    return this.#used;
  }

  reserve(bytes: number): boolean {
    if (this.#used + bytes > inFlightBytesMax) return false;
    this.#used += bytes;
    return true;
  }

  release(bytes: number): void {
    this.#used -= bytes;
  }
}

/** A recorded message. */
export interface StoredMessage {
  /** Its bytes as they were on the connection, or the first of them. */
  readonly bytes: Buffer;
  /** The number of all of its bytes. */
  readonly length: number;
}

const none = Buffer.alloc(0);

/** A buffer that doubles: a list of chunks would take a hundred bytes for each chunk of one byte. */
export class StoredBytes {
  readonly #inFlight: InFlightBytes;
  #buffer = none;
  #stored = 0;
  /** Of all bytes, stored or not. */
  length = 0;

  constructor(inFlight: InFlightBytes) {
    this.#inFlight = inFlight;
  }

  append(bytes: Buffer): void {
    // Bytes behind a gap would be at a wrong place.
    const isWhole = this.#stored === this.length;
    this.length += bytes.length;
    if (!isWhole) return;
    const fitting = Math.min(bytes.length, messageBytesMax - this.#stored);
    if (this.#stored + fitting > this.#buffer.length && !this.#grow(this.#stored + fitting)) return;
    bytes.copy(this.#buffer, this.#stored, 0, fitting);
    this.#stored += fitting;
  }

  /** Returns the message, and releases the memory. */
  finish(): StoredMessage {
    // Most messages arrive at once, and fill their buffer.
    const isFull = this.#stored === this.#buffer.length;
    const bytes = isFull ? this.#buffer : Buffer.from(this.#buffer.subarray(0, this.#stored));
    this.#inFlight.release(this.#buffer.length);
    this.#buffer = none;
    return { bytes, length: this.length };
  }

  #grow(needed: number): boolean {
    const size = Math.min(messageBytesMax, Math.max(needed, 2 * this.#buffer.length));
    if (!this.#inFlight.reserve(size - this.#buffer.length)) return false;
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#stored);
    this.#buffer = larger;
    return true;
  }
}
