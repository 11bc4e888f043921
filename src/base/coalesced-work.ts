// Runs work whose result is shared by all calls that were made before it started.

/** The pause between two runs, unless a call passes another one. */
const defaultPauseMs = 100;

export class CoalescedWork<Result> {
  readonly #work: () => Promise<Result>;
  #last: Promise<unknown> = Promise.resolve();
  #lastEndedAt = Number.NEGATIVE_INFINITY;
  #next: Promise<Result> | undefined;

  constructor(work: () => Promise<Result>) {
    this.#work = work;
  }

  /**
   * Returns the result of a run that starts after this call. Calls that are made before it starts
   * share it.
   *
   * @param pauseMs the least time since the end of the last run. For calls that share a run, the
   *   pause of the first one applies.
   */
  run(pauseMs = defaultPauseMs): Promise<Result> {
    this.#next ??= this.#runAfter(this.#last, pauseMs);
    return this.#next;
  }

  /** Resolves when the runs that were asked for have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([this.#last, this.#next]);
  }

  async #runAfter(last: Promise<unknown>, pauseMs: number): Promise<Result> {
    await last;
    const remainingMs = this.#lastEndedAt + pauseMs - performance.now();
    if (remainingMs > 0) await Bun.sleep(remainingMs);
    this.#next = undefined;
    const running = this.#work();
    this.#last = running
      .catch(() => undefined)
      .then(() => {
        this.#lastEndedAt = performance.now();
      });
    return running;
  }
}
