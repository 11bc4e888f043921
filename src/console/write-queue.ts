// The queue of the writes of the console to the store, which leaves time for batches of creates.

/** The pause between two writes, and the writes that may be queued. */
const writePauseMs = 20;
const queuedWritesMax = 100;

/**
 * Writes to the store one at a time, with a pause after each in which batches of creates are
 * committed.
 */
export class WriteQueue {
  #last: Promise<unknown> = Promise.resolve();
  #length = 0;

  /** The result of a write; undefined, without the write, if the queue is full. */
  async run<Result>(write: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#length >= queuedWritesMax) return undefined;
    this.#length++;
    const writing = this.#last.then(write).finally(() => {
      this.#length--;
    });
    this.#last = writing.catch(() => undefined).then(() => Bun.sleep(writePauseMs));
    return writing;
  }
}
