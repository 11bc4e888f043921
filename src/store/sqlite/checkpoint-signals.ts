// Signals between the committing thread and the checkpoint thread by a few integers in the memory
// that they share, so that neither waits for the main thread.

import { signalsAt } from "./shared-batch.ts";

/** The indexes of the integers. */
const state = 0;
const commits = 1;
const isCopying = 2;
const integers = 3;

/** The values of the first one. */
const running = 0;
const stopped = 1;
const diskFailed = 2;

export class CheckpointSignals {
  readonly #integers: Int32Array;

  /** @param memory of the batches, see BatchMemory. */
  constructor(memory: SharedArrayBuffer) {
    this.#integers = new Int32Array(memory, signalsAt, integers);
  }

  /** Called after each call of the store that may have committed: the WAL may have grown. */
  committed(): void {
    Atomics.add(this.#integers, commits, 1);
    Atomics.notify(this.#integers, commits);
  }

  /** Blocks until the checkpoint thread, if it is copying the WAL, has ended that. */
  waitUntilCopied(): void {
    Atomics.wait(this.#integers, isCopying, 1);
  }

  /** Ends the waits of the checkpoint thread. */
  stop(): void {
    Atomics.compareExchange(this.#integers, state, running, stopped);
    this.#wakeCheckpointThread();
  }

  /**
   * Called by either thread after an fsync has failed: no other may take place, and no commit may
   * be acknowledged.
   */
  failDisk(): void {
    Atomics.store(this.#integers, state, diskFailed);
    this.#wakeCheckpointThread();
  }

  get hasDiskFailed(): boolean {
    return Atomics.load(this.#integers, state) === diskFailed;
  }

  /**
   * Runs `copy` in the checkpoint thread, at least `intervalMs` apart and only after commits, until
   * one of the threads ends it.
   */
  afterCommits(intervalMs: number, copy: () => void): void {
    for (let seen = -1; ; ) {
      Atomics.wait(this.#integers, state, running, intervalMs);
      Atomics.wait(this.#integers, commits, seen);
      // Before the state: a thread that changes it afterwards ends the next wait.
      seen = Atomics.load(this.#integers, commits);
      if (Atomics.load(this.#integers, state) !== running) return;
      Atomics.store(this.#integers, isCopying, 1);
      try {
        copy();
      } finally {
        Atomics.store(this.#integers, isCopying, 0);
        Atomics.notify(this.#integers, isCopying);
      }
    }
  }

  #wakeCheckpointThread(): void {
    Atomics.notify(this.#integers, state);
    this.committed();
  }
}
