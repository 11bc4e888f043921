// Passes a text and the response to it between the main thread and the committing thread in memory that
// they share, for the reason that shared-batch.ts gives.

import { giveBack, Handover, isHandedOver } from "./handover.ts";

/** UTF-8 bytes of a text. Pages that were never written take no memory. */
const textBytesMax = 2 ** 20;

/** The maximum number of UTF-8 bytes of a code unit. */
const bytesPerCodeUnit = 3;

/** UTF-16 code units of a text that fits, whatever they are. */
export const codeUnitsMax = Math.floor(textBytesMax / bytesPerCodeUnit);

/** The indexes of the integers: 1 from the time that the text is sent until it has its response. */
const isInFlight = 0;
const textBytes = 1;
const integerBytes = 2 * Int32Array.BYTES_PER_ELEMENT;

/** The memory of a text, from a place that is a multiple of 4. */
export const sharedTextBytes = integerBytes + textBytesMax;

/** The memory, in which either thread reads what the other has written. */
export class SharedText {
  readonly #integers: Int32Array<SharedArrayBuffer>;
  readonly #bytes: Buffer<SharedArrayBuffer>;

  constructor(buffer: SharedArrayBuffer, at: number) {
    this.#integers = new Int32Array(buffer, at, 2);
    this.#bytes = Buffer.from(buffer, at + integerBytes, textBytesMax);
  }

  /** Whether a text was sent that has no response. */
  get isSent(): boolean {
    return isHandedOver(this.#integers, isInFlight);
  }

  /** The text that was sent, or the response to it. */
  read(): string {
    return this.#bytes.toString("utf8", 0, this.#integers[textBytes]);
  }

  write(text: string): void {
    this.#integers[textBytes] = this.#bytes.write(text, 0, textBytesMax, "utf8");
  }

  respond(text: string): void {
    this.write(text);
    giveBack(this.#integers, isInFlight);
  }

  /** @param wake wakes the committing thread. */
  handover(wake: () => void): Handover {
    return new Handover(this.#integers, isInFlight, wake);
  }
}

/** The main thread's end. */
export class TextSender {
  readonly #memory: SharedText;
  readonly #handover: Handover;

  /** @param wake wakes the committing thread. */
  constructor(memory: SharedText, wake: () => void) {
    this.#memory = memory;
    this.#handover = memory.handover(wake);
  }

  /** Whether a text can be sent now: it fits, no other one is in flight, and nothing has failed. */
  accepts(text: string): boolean {
    return this.#handover.isFree && text.length <= codeUnitsMax;
  }

  /** Sends a text that is accepted, and resolves with the response. */
  send(text: string): Promise<string> {
    this.#memory.write(text);
    return this.#handover.send(() => this.#memory.read());
  }

  /** Rejects the text in flight, and accepts no later one, as the committing thread has ended. */
  fail(error: Error): void {
    this.#handover.fail(error);
  }
}
