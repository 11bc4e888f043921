// Paces requests to the admin listener, so that creates go on beside them however many there are and whatever each costs.

/** Started at once in a period; further ones start in the next, so a client that repeats its request gets 20 answers a second. */
const periodMs = 50;
const startsPerPeriod = 25;

/** Started in one turn of the event loop. A scrape takes a millisecond, most others far less. */
const startsPerTurn = 4;

type Start = () => void;

export class RequestPacer {
  readonly #scheduleTurn: (run: () => void) => void;
  readonly #now: () => number;
  /** Requests of the next period. */
  #held: Start[] = [];
  /** Requests of this period that start in the next turns. */
  readonly #released: Start[] = [];
  #periodEndsAt = Number.NEGATIVE_INFINITY;
  #periodStarts = 0;
  #turnStarts = 0;
  #isTurnScheduled = false;
  #timer: Timer | undefined;

  /**
   * @param scheduleTurn runs a function in a later turn of the event loop, such as setImmediate.
   * @param now milliseconds of a monotonic clock.
   */
  constructor(scheduleTurn: (run: () => void) => void, now: () => number) {
    this.#scheduleTurn = scheduleTurn;
    this.#now = now;
  }

  /** Handles a request, now or later. One whose client has left by then is not handled. */
  async run(request: Request, handle: () => Response | Promise<Response>): Promise<Response> {
    const started = this.#admit();
    if (started !== undefined) await started;
    return request.signal.aborted ? new Response() : handle();
  }

  /** What a request has to wait for; undefined if it may start now. */
  #admit(): Promise<void> | undefined {
    const now = this.#now();
    if (this.#timer === undefined && now >= this.#periodEndsAt) this.#beginPeriod(now);
    if (this.#periodStarts >= startsPerPeriod) {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#beginPeriod(this.#now());
      }, this.#periodEndsAt - now);
      return new Promise((resolve) => this.#held.push(resolve));
    }
    this.#periodStarts++;
    if (this.#turnStarts >= startsPerTurn) return new Promise((resolve) => this.#released.push(resolve));
    this.#turnStarts++;
    this.#schedule();
    return undefined;
  }

  #beginPeriod(now: number): void {
    this.#periodEndsAt = now + periodMs;
    this.#periodStarts = this.#held.length;
    if (this.#held.length === 0) return;
    this.#released.push(...this.#held);
    this.#held = [];
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isTurnScheduled) return;
    this.#isTurnScheduled = true;
    this.#scheduleTurn(() => this.#beginTurn());
  }

  #beginTurn(): void {
    this.#isTurnScheduled = false;
    const starts = this.#released.splice(0, startsPerTurn);
    this.#turnStarts = starts.length;
    if (starts.length > 0) this.#schedule();
    for (const start of starts) start();
  }
}
