// Hands memory that two threads share to the committing thread, until that has responded in it: an integer is
// 1 meanwhile. One thing is under way at a time.

/** Whether the memory is with the committing thread. */
export function isHandedOver(integers: Int32Array, index: number): boolean {
  return Atomics.load(integers, index) === 1;
}

/** Gives the memory back, in which the response has been written. */
export function giveBack(integers: Int32Array, index: number): void {
  Atomics.store(integers, index, 0);
  Atomics.notify(integers, index);
}

/** The main thread's end. */
export class Handover {
  readonly #integers: Int32Array<SharedArrayBuffer>;
  readonly #index: number;
  readonly #wake: () => void;
  /** True until the response is read; the memory must not be written before. */
  #isUnderWay = false;
  #failure: Error | undefined;

  /** @param wake wakes the committing thread. */
  constructor(integers: Int32Array<SharedArrayBuffer>, index: number, wake: () => void) {
    this.#integers = integers;
    this.#index = index;
    this.#wake = wake;
  }

  /** Whether the memory can be written: nothing is under way, and nothing has failed. */
  get isFree(): boolean {
    return !this.#isUnderWay && this.#failure === undefined;
  }

  /** Hands the memory over, which has been written, and resolves with the response that `read` finds there. */
  async send<Response>(read: () => Response): Promise<Response> {
    this.#isUnderWay = true;
    Atomics.store(this.#integers, this.#index, 1);
    this.#wake();
    while (isHandedOver(this.#integers, this.#index)) {
      if (this.#failure !== undefined) throw this.#failure;
      await Atomics.waitAsync(this.#integers, this.#index, 1).value;
    }
    this.#isUnderWay = false;
    return read();
  }

  /** Rejects what is under way, and is free no more, as the committing thread has ended. */
  fail(error: Error): void {
    this.#failure = error;
    Atomics.notify(this.#integers, this.#index);
  }
}
