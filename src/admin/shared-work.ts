// Limits what the work behind the admin listener costs the creates beside it: one run serves all requests that wait for
// its result, and changes of the store follow each other.

/** The pause between two runs of the same work. */
const backoffMs = 100;

/** The pause between two changes, and the changes that may wait. */
const changePauseMs = 20;
const waitingChangesMax = 100;

/** Work whose result serves all who ask for it before it begins, so that none of them gets an old one. */
export class SharedRun<Result> {
  readonly #work: () => Promise<Result>;
  #last: Promise<unknown> = Promise.resolve();
  #lastEndAt = Number.NEGATIVE_INFINITY;
  #next: Promise<Result> | undefined;

  constructor(work: () => Promise<Result>) {
    this.#work = work;
  }

  /** The result of a run that begins after this call, and a while after the run before it. */
  run(): Promise<Result> {
    this.#next ??= this.#runAfter(this.#last);
    return this.#next;
  }

  async #runAfter(last: Promise<unknown>): Promise<Result> {
    await last;
    const waitMs = this.#lastEndAt + backoffMs - performance.now();
    if (waitMs > 0) await Bun.sleep(waitMs);
    this.#next = undefined;
    const running = this.#work();
    this.#last = running
      .catch(() => undefined)
      .then(() => {
        this.#lastEndAt = performance.now();
      });
    return running;
  }
}

/** Changes of the store, one at a time and with a pause between them, so that batches of creates are committed meanwhile. */
export class ChangeQueue {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Makes a change when its turn comes; undefined, and not made, if too many wait. */
  async run<Result>(change: () => Promise<Result>): Promise<Result | undefined> {
    if (this.#waiting >= waitingChangesMax) return undefined;
    this.#waiting++;
    const changing = this.#last.then(change).finally(() => {
      this.#waiting--;
    });
    this.#last = changing.catch(() => undefined).then(() => Bun.sleep(changePauseMs));
    return changing;
  }
}
