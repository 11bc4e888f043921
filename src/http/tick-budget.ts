// Limits the responses that are sent at once in one tick of the event loop.
//
// In one tick Bun polls the sockets up to 48 times while 1,024 of them are readable (as libuv
// does), and only then receives the results of committed batches. Clients that are rejected at once
// and retry at once made a tick take seconds: beside 4,000 of them 64 others created 130 plants in
// three seconds, and with this limit 1,900.

/** More than a client pipelines. Beyond it responses wait for the end of the tick. */
const responsesMax = 100;

export class TickBudget {
  #responses = 0;
  #endOfTick = Promise.withResolvers<void>();

  /** Counts a response that needed no commit. Returns the promise to await before it is sent. */
  countResponse(): Promise<void> | undefined {
    if (this.#responses++ === 0) setImmediate(() => this.#reset());
    return this.#responses > responsesMax ? this.#endOfTick.promise : undefined;
  }

  #reset(): void {
    this.#responses = 0;
    this.#endOfTick.resolve();
    this.#endOfTick = Promise.withResolvers();
  }
}
