// One turn of the event loop, in which only so many requests are answered at once.
//
// In one turn Bun goes back to the sockets up to 48 times while 1,024 of them have something (as libuv does), and only
// then hears of batches that were committed. Clients that are refused at once, and ask again at once, made that turn
// take seconds: with 8,000 of them 3 % of the goodput was left.

/** More than a client sends in one go; past it the answers of a turn come at its end, so that each connection gets one. */
const answersMax = 100;

export class TickBudget {
  readonly #atEnd: (run: () => void) => void;
  #answers = 0;
  #end = Promise.withResolvers<void>();

  /** @param atEnd runs what it is given at the end of the turn. */
  constructor(atEnd: (run: () => void) => void) {
    this.#atEnd = atEnd;
  }

  /** Counts an answer that needed no commit. What it has to wait for, if there were many in this turn already. */
  answer(): Promise<void> | undefined {
    if (this.#answers++ === 0) this.#atEnd(() => this.#next());
    return this.#answers > answersMax ? this.#end.promise : undefined;
  }

  #next(): void {
    this.#answers = 0;
    this.#end.resolve();
    this.#end = Promise.withResolvers();
  }
}
