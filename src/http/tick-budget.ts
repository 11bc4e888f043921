// Limits the responses that are sent at once in one tick of the event loop.
//
// In one tick Bun polls the sockets up to 48 times while 1,024 of them are readable (as libuv
// does), and only then receives the results of committed batches. Thousands of clients that are
// rejected at once and retry at once make a tick take seconds.

/** More than a client pipelines. Beyond it responses wait for the end of the tick. */
const responsesMax = 100;

/**
 * The waiting responses that the end of a tick sends. Bun ends a request whose body has not arrived
 * inside the callback of the one before: some thousands overflow the stack, which ends the process.
 */
const releasedMax = 500;

export class TickBudget {
  #responses = 0;
  readonly #waiting: (() => void)[] = [];

  /** Counts a response that needed no commit. Returns the promise to await before it is sent. */
  countResponse(): Promise<void> | undefined {
    if (this.#responses++ === 0) setImmediate(() => this.#reset());
    if (this.#responses <= responsesMax) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #reset(): void {
    const released = this.#waiting.splice(0, releasedMax);
    // While some still wait, the next ones wait behind them.
    if (this.#waiting.length > 0) setImmediate(() => this.#reset());
    else this.#responses = 0;
    for (const release of released) release();
  }
}
