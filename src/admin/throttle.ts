// Limits what requests to the admin listener cost the creates beside them, however fast and on however many connections
// they are sent. None of them is refused but a change past the limit of its queue.

/** A period of Pacer, and the requests in it that wait for nothing. */
const periodMs = 50;
const unpacedRequestsMax = 25;

/** The pause between two runs of the same work. */
const pauseMs = 100;

/** The pause between two changes, and the changes that may wait. */
const changePauseMs = 20;
const waitingChangesMax = 100;

/**
 * Past some requests in a period, further ones are handled when the next period begins: a client that asks again as soon
 * as it is answered is answered some 20 times a second on each connection.
 */
export class Pacer {
  #periodEndsAt = Number.NEGATIVE_INFINITY;
  #requests = 0;
  #waiting = 0;
  #nextPeriod: Promise<void> | undefined;

  /** Counts a request. What it has to wait for, if there were many in this period already. */
  admit(): Promise<void> | undefined {
    const now = performance.now();
    if (now >= this.#periodEndsAt && this.#nextPeriod === undefined) this.#begin(now);
    if (this.#requests < unpacedRequestsMax) {
      this.#requests++;
      return undefined;
    }
    this.#waiting++;
    this.#nextPeriod ??= Bun.sleep(this.#periodEndsAt - now).then(() => {
      this.#nextPeriod = undefined;
      this.#begin(performance.now());
    });
    return this.#nextPeriod;
  }

  /** Begins a period with the requests that have waited for it. */
  #begin(now: number): void {
    this.#periodEndsAt = now + periodMs;
    this.#requests = this.#waiting;
    this.#waiting = 0;
  }
}

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
    const waitMs = this.#lastEndAt + pauseMs - performance.now();
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
