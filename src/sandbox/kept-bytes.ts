// The bytes of one direction of a connection that are not in the log of requests yet, within a
// limit for each and one for all.

/** The rest of a longer message is counted and not stored. */
export const messageBytesMax = 4 * 2 ** 20;

/** Bytes that are kept of all connections together. */
const keptBytesMax = 64 * 2 ** 20;

export interface StoredMessage {
  /** Its bytes as they were on the connection, or the first of them. */
  readonly bytes: Buffer;
  /** The number of all of its bytes. */
  readonly length: number;
}

/** The bytes that all connections share and use. */
export interface KeptBytesBudget {
  used: number;
}

const none: Buffer = Buffer.alloc(0);

export class KeptBytes {
  readonly #budget: KeptBytesBudget;
  #buffer: Buffer = none;
  #stored = 0;
  #length = 0;

  constructor(budget: KeptBytesBudget) {
    this.#budget = budget;
  }

  /** The number of all bytes, stored or not. */
  get length(): number {
    return this.#length;
  }

  /** The bytes that are stored: all of them, or the first. */
  get stored(): Buffer {
    return this.#buffer.subarray(0, this.#stored);
  }

  append(bytes: Buffer): void {
    // Bytes behind a gap would be at a wrong place.
    const isWhole = this.#stored === this.#length;
    this.#length += bytes.length;
    if (!isWhole) return;
    const end = this.#stored + Math.min(bytes.length, messageBytesMax - this.#stored);
    if (end > this.#buffer.length && !this.#grow(end)) return;
    bytes.copy(this.#buffer, this.#stored, 0, end - this.#stored);
    this.#stored = end;
  }

  /** Removes the first bytes, and returns them as a message. */
  take(length = this.#length): StoredMessage {
    const [stored, rest] = [this.stored, this.#length - length];
    const bytes =
      rest === 0 && stored.length === this.#buffer.length ? stored : Buffer.from(stored.subarray(0, length));
    this.#budget.used -= this.#buffer.length;
    [this.#buffer, this.#stored, this.#length] = [none, 0, 0];
    if (rest > 0) {
      this.append(stored.subarray(length));
      this.#length = rest;
    }
    return { bytes, length };
  }

  /** Doubles the buffer: a list of chunks would take a hundred bytes for each chunk of one byte. */
  #grow(needed: number): boolean {
    const size = Math.min(messageBytesMax, Math.max(needed, 2 * this.#buffer.length));
    const used = this.#budget.used + size - this.#buffer.length;
    if (used > keptBytesMax) return false;
    this.#budget.used = used;
    const larger = Buffer.allocUnsafeSlow(size);
    this.#buffer.copy(larger, 0, 0, this.#stored);
    this.#buffer = larger;
    return true;
  }
}
