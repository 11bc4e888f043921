// Throttles the admin listener, so that its clients cannot slow creates: requests are paced, and
// one run of expensive work serves all requests that wait for it.

/** The pacing period. A client that repeats a request gets 20 responses a second. */
const periodMs = 50;
const startsPerPeriod = 25;

/**
 * Requests that start in one turn of the event loop. A scrape takes a millisecond, most others
 * less.
 */
const startsPerTick = 4;

/** The pause between two runs of coalesced work. */
const coalescingPauseMs = 100;

type Start = () => void;

/** Starts a limited number of requests in each period and in each turn of the event loop. */
export class RequestPacer {
  readonly #schedule: (run: () => void) => void;
  readonly #now: () => number;
  /** Requests of the next period. */
  #nextPeriod: Start[] = [];
  /** Requests of this period that start in the next iterations of the event loop. */
  readonly #nextTicks: Start[] = [];
  #periodEndsAt = Number.NEGATIVE_INFINITY;
  #periodStarts = 0;
  #tickStarts = 0;
  #isTickScheduled = false;
  #timer: Timer | undefined;

  /**
   * @param schedule runs a function in a later iteration of the event loop, such as setImmediate.
   * @param now milliseconds of a monotonic clock.
   */
  constructor(schedule: (run: () => void) => void, now: () => number) {
    this.#schedule = schedule;
    this.#now = now;
  }

  /** Handles a request, now or later. It is not handled if its client has disconnected by then. */
  async run(request: Request, handle: () => Response | Promise<Response>): Promise<Response> {
    const delay = this.#delay();
    if (delay !== undefined) await delay;
    return request.signal.aborted ? new Response() : handle();
  }

  /** Undefined if a request may start now. */
  #delay(): Promise<void> | undefined {
    const now = this.#now();
    if (this.#timer === undefined && now >= this.#periodEndsAt) this.#startPeriod(now);
    if (this.#periodStarts >= startsPerPeriod) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#startPeriod(this.#now());
      }, this.#periodEndsAt - now);
      return new Promise((resolve) => this.#nextPeriod.push(resolve));
    }
    this.#periodStarts++;
    if (this.#tickStarts >= startsPerTick) return new Promise((resolve) => this.#nextTicks.push(resolve));
    this.#tickStarts++;
    this.#scheduleTick();
    return undefined;
  }

  #startPeriod(now: number): void {
    this.#periodEndsAt = now + periodMs;
    this.#periodStarts = this.#nextPeriod.length;
    if (this.#nextPeriod.length === 0) return;
    this.#nextTicks.push(...this.#nextPeriod);
    this.#nextPeriod = [];
    this.#scheduleTick();
  }

  #scheduleTick(): void {
    if (this.#isTickScheduled) return;
    this.#isTickScheduled = true;
    this.#schedule(() => this.#startTick());
  }

  #startTick(): void {
    this.#isTickScheduled = false;
    const starts = this.#nextTicks.splice(0, startsPerTick);
    this.#tickStarts = starts.length;
    if (starts.length > 0) this.#scheduleTick();
    for (const start of starts) start();
  }
}

/** Work whose result all calls share that were made before it started. */
export class CoalescedWork<Result> {
  readonly #work: () => Promise<Result>;
  #last: Promise<unknown> = Promise.resolve();
  #lastEndedAt = Number.NEGATIVE_INFINITY;
  #next: Promise<Result> | undefined;

  constructor(work: () => Promise<Result>) {
    this.#work = work;
  }

  /** The result of a run that starts after this call, and after a pause since the last run. */
  run(): Promise<Result> {
    this.#next ??= this.#runAfter(this.#last);
    return this.#next;
  }

  async #runAfter(last: Promise<unknown>): Promise<Result> {
    await last;
    const remainingMs = this.#lastEndedAt + coalescingPauseMs - performance.now();
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
